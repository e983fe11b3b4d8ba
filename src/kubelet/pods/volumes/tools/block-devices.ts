import { lstat, realpath, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errnoOf } from "../../../../lib/base/errors.ts";
import { listDir } from "../../../../lib/host/entries.ts";
import type { PodVolumeTarget } from "../volume-plugin.ts";

export interface DeviceDirs {
  /** Where sysfs is mounted. */
  readonly sysDir: string;
  readonly devDir: string;
  /** The directory of udev's links: by-path, by-id. */
  readonly linkDir: string;
}

export const hostDeviceDirs: DeviceDirs = { sysDir: "/sys", devDir: "/dev", linkDir: "/dev/disk" };

/** The multipath device that the disk is part of. The disk may be named by a link in /dev/disk. */
export async function multipathOf(
  { sysDir, devDir }: DeviceDirs,
  device: string,
): Promise<string | undefined> {
  if (basename(device).startsWith("dm-")) return device;
  const real = await realpath(device).catch(() => undefined);
  if (real === undefined || dirname(real) !== devDir) return undefined;
  for (const name of await listDir(join(sysDir, "block"))) {
    if (!name.startsWith("dm-")) continue;
    if (await exists(join(sysDir, "block", name, "slaves", basename(real)))) return join(devDir, name);
  }
  return undefined;
}

/** Names of the disks ("sda") that are the paths of a multipath device. */
export function slavesOf({ sysDir }: DeviceDirs, multipath: string): Promise<string[]> {
  return listDir(join(sysDir, "block", basename(multipath), "slaves"));
}

/** Removes a disk ("sda") from the kernel. */
export async function removeScsiDisk({ sysDir }: DeviceDirs, disk: string): Promise<void> {
  await writeFile(join(sysDir, "block", disk, "device/delete"), "1", { flag: "r+" }).catch((error) => {
    if (errnoOf(error) !== "ENOENT") throw error;
  });
}

/** The directory among these in which the device of a pod's link is mapped under the UID of the pod. */
export async function globalMapOf(
  dirs: readonly string[],
  { podUid, dir }: PodVolumeTarget,
): Promise<string | undefined> {
  const own = await stat(dir).catch(() => undefined);
  if (!own?.isBlockDevice()) return undefined;
  for (const candidate of dirs) {
    const mapped = await stat(join(candidate, podUid)).catch(() => undefined);
    if (mapped?.isBlockDevice() && mapped.rdev === own.rdev) return candidate;
  }
  return undefined;
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
