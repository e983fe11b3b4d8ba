import { stat } from "node:fs/promises";
import { type BlockDevice, readBlockDevices } from "../../lib/host/block-devices.ts";
import { type FilesystemSpace, filesystemSpace } from "../../lib/host/disk-usage.ts";
import { type MountPoint, readMounts } from "../../lib/host/mount-table.ts";

/** A disk of the machine with a filesystem on it, or a tmpfs. */
export interface Disk {
  /** "/dev/sda", or the path of a tmpfs. */
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

const noCounts: BlockDevice = {
  path: "",
  reads: 0,
  readsMerged: 0,
  sectorsRead: 0,
  readMs: 0,
  writes: 0,
  writesMerged: 0,
  sectorsWritten: 0,
  writeMs: 0,
  inFlight: 0,
  ioMs: 0,
  weightedIoMs: 0,
};

/** The paths of the machine's tmpfs, without those that the kubelet mounts for pods. */
export function tmpfsPaths(rootDir: string, mounts: readonly MountPoint[] = readMounts()): string[] {
  const found = mounts.filter(
    ({ fsType, path }) => fsType === "tmpfs" && !path.startsWith(`${rootDir}/pods/`),
  );
  return [...new Set(found.map(({ path }) => path))];
}

/** The mounted disks of the machine, each once, and these tmpfs. */
export async function readDisks(
  tmpfs: readonly string[],
  mounts: readonly MountPoint[] = readMounts(),
): Promise<Disks> {
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
  const inMemory = await Promise.all(
    tmpfs.map(async (path): Promise<Disk | undefined> => {
      const space = await filesystemSpace(path).catch(() => undefined);
      return space && { device: path, number: (await deviceOf(path)) ?? "", space, counts: noCounts };
    }),
  );
  return {
    disks: [...disks, ...inMemory].filter((disk) => disk !== undefined),
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
