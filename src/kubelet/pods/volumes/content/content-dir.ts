import { chmod, lstat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errnoOf, KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import { entryExists } from "../../../../lib/host/entries.ts";
import { makeDirs } from "../../../../lib/host/make-dirs.ts";
import type { Mounts, TmpfsOptions } from "../../../../lib/host/mounts.ts";
import { removeTree } from "../../../../lib/host/remove-tree.ts";
import { dataLink } from "./volume-root.ts";

export type ContentMounts = Pick<Mounts, "mountTmpfs" | "isMountPoint" | "unmount">;

export type Medium = "memory" | "disk";

const dirMode = 0o777;

export interface ContentMedium {
  readonly medium: Medium;
  /** An earlier version may have written to disk, and running containers have mounted that directory: it remains in use. */
  readonly mayBeOnDisk?: boolean;
}

/** The medium of the directory if it was completely created; in memory it is a mount point. */
export async function existingMedium(
  mounts: ContentMounts,
  dir: string,
  { medium, mayBeOnDisk }: ContentMedium,
): Promise<Medium | undefined> {
  if (!(await entryExists(dir))) return undefined;
  const isMounted = medium === "memory" && ((await isOtherDevice(dir)) || (await mounts.isMountPoint(dir)));
  if (isMounted) return "memory";
  // After a reboot the mount is gone but the `ready` file is not: only content proves that the volume was on disk.
  const isOnDisk = medium === "disk" || (mayBeOnDisk === true && (await entryExists(join(dir, dataLink))));
  return isOnDisk && (await entryExists(join(metaDirOf(dir), "ready"))) ? "disk" : undefined;
}

export async function createContentDir(
  mounts: ContentMounts,
  dir: string,
  medium: Medium,
  tmpfs: () => TmpfsOptions,
): Promise<void> {
  await makeDirs(dir, 0o755);
  await chmod(dir, dirMode); // regardless of the umask
  if (medium === "memory") await mounts.mountTmpfs(dir, tmpfs());
  await setReady(dir);
}

/** True for a tmpfs. Cheaper than the mount table, and called with each setUp. */
async function isOtherDevice(dir: string): Promise<boolean> {
  const [own, parent] = await Promise.all([lstat(dir), lstat(dirname(dir))]);
  return own.dev !== parent.dev;
}

/** Removes the directory, its mount and its `ready` file, if they exist. */
export async function removeContentDir(mounts: ContentMounts, dir: string): Promise<void> {
  // The `ready` file is removed first: a partially removed volume must not count as complete.
  await removeTree(metaDirOf(dir));
  if (await mounts.isMountPoint(dir)) await mounts.unmount(dir);
  await removeTree(dir);
}

/** As in the reference kubelet, `plugins/kubernetes.io~empty-dir/wrapped_<name>/ready` of the pod marks a volume as complete. */
function metaDirOf(dir: string): string {
  const podDir = dirname(dirname(dirname(dir)));
  return join(podDir, "plugins", "kubernetes.io~empty-dir", `wrapped_${basename(dir)}`);
}

async function setReady(dir: string): Promise<void> {
  const metaDir = metaDirOf(dir);
  await makeDirs(metaDir, 0o750);
  await writeFile(join(metaDir, "ready"), "");
}

/** Creates the directories in the volume that other volumes are mounted on. */
export async function createMountPoints(dir: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    try {
      await makeDirs(join(dir, path), 0o755);
    } catch (error) {
      // A file of the volume has this name: the runtime mounts on it.
      if (errnoOf(error) === "EEXIST" && path.split("/").length === 1) continue;
      throw new KubeletError(
        "MountPoint",
        `unable to create nested volume mountpoints: ${messageOf(error)}`,
        { cause: error },
      );
    }
  }
}
