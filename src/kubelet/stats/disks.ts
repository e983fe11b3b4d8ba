import { stat } from "node:fs/promises";
import { type BlockDevice, readBlockDevices } from "../../lib/host/block-devices.ts";
import { type FilesystemSpace, filesystemSpace } from "../../lib/host/disk-usage.ts";
import { type MountPoint, readMounts } from "../../lib/host/mount-table.ts";

/** A disk of the machine with a filesystem on it. */
export interface Disk {
  readonly device: string;
  /** "8:0" */
  readonly number: string;
  readonly space: FilesystemSpace;
  readonly counts?: BlockDevice;
}

export interface Disks {
  readonly disks: readonly Disk[];
  /** "8:0" as "/dev/sda"; other devices keep their numbers. */
  deviceName(device: string): string;
}

/** The mounted disks of the machine, each once. */
export async function readDisks(mounts: readonly MountPoint[] = readMounts()): Promise<Disks> {
  const devices = await readBlockDevices();
  const first = new Map<string, MountPoint>();
  for (const mount of mounts)
    if (mount.source.startsWith("/dev/") && !first.has(mount.device)) first.set(mount.device, mount);
  const disks = await Promise.all(
    [...first.values()].map(async ({ device, source, path }): Promise<Disk | undefined> => {
      const space = await filesystemSpace(path).catch(() => undefined);
      const counts = devices.get(device);
      return space && { device: source, number: device, space, ...(counts && { counts }) };
    }),
  );
  return {
    disks: disks.filter((disk) => disk !== undefined),
    deviceName: (device) => devices.get(device)?.path ?? device,
  };
}

/** "8:1" of the filesystem that a path is on; undefined if there is no such path. */
export async function deviceOf(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (!found) return undefined;
  const { dev } = found;
  const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & ~0xfffn);
  const minor = (dev & 0xffn) | ((dev >> 12n) & ~0xffn);
  return `${major}:${minor}`;
}
