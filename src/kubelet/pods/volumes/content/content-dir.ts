import { chmod, lstat, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errnoOf, KubeletError, messageOf } from "../../../../lib/base/errors.ts";
import { entryExists } from "../../../../lib/host/entries.ts";
import { makeDirs } from "../../../../lib/host/make-dirs.ts";
import type { Mounts, TmpfsOptions } from "../../../../lib/host/mounts.ts";
import { removeTree } from "../../../../lib/host/remove-tree.ts";
import { dataLink } from "./volume-root.ts";

/** Mounts in memory. */
export type ContentMounts = Pick<Mounts, "mountTmpfs" | "isMountPoint" | "unmount">;

export type Medium = "memory" | "disk";

const placeMode = 0o777;

export interface ContentMedium {
  readonly medium: Medium;
  /** Content of an earlier version may be on disk, and containers that run have that folder: it stays in use. */
  readonly keepsDisk?: boolean;
}

/** Where the folder that the files go to is, if it was made to its end; in memory it is a mount of its own. */
export async function existingMedium(
  mounts: ContentMounts,
  dir: string,
  { medium, keepsDisk }: ContentMedium,
): Promise<Medium | undefined> {
  if (!(await entryExists(dir))) return undefined;
  const isMounted = medium === "memory" && ((await isOtherDevice(dir)) || (await mounts.isMountPoint(dir)));
  if (isMounted) return "memory";
  // After a reboot the mount is gone and the mark is not: only content shows that the disk was meant.
  const isOnDisk = medium === "disk" || (keepsDisk === true && (await entryExists(join(dir, dataLink))));
  return isOnDisk && (await entryExists(join(markFolder(dir), "ready"))) ? "disk" : undefined;
}

export async function createContentDir(
  mounts: ContentMounts,
  dir: string,
  medium: Medium,
  tmpfs: () => TmpfsOptions,
): Promise<void> {
  await makeDirs(dir, 0o755);
  await chmod(dir, placeMode); // whatever the umask
  if (medium === "memory") await mounts.mountTmpfs(dir, tmpfs());
  await markReady(dir);
}

/** A tmpfs is a device of its own. Cheaper than the mount table, and asked at each look at a volume. */
async function isOtherDevice(dir: string): Promise<boolean> {
  const [own, parent] = await Promise.all([lstat(dir), lstat(dirname(dir))]);
  return own.dev !== parent.dev;
}

/** Takes the folder, the mount on it and its mark away, whatever there is of them. */
export async function removeContentDir(mounts: ContentMounts, dir: string): Promise<void> {
  // The mark first: a volume that is half removed must not be taken for a whole one.
  await rm(markFolder(dir), { recursive: true, force: true });
  if (await mounts.isMountPoint(dir)) await mounts.unmount(dir);
  await removeTree(dir);
}

/** Other software looks here whether a volume was made: `plugins/kubernetes.io~empty-dir/wrapped_<name>/ready` of the pod. */
function markFolder(dir: string): string {
  const podDir = dirname(dirname(dirname(dir)));
  return join(podDir, "plugins", "kubernetes.io~empty-dir", `wrapped_${basename(dir)}`);
}

async function markReady(dir: string): Promise<void> {
  const folder = markFolder(dir);
  await makeDirs(folder, 0o750);
  await writeFile(join(folder, "ready"), "");
}

/** Folders in the volume that other volumes are mounted on. */
export async function createMountPoints(dir: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    try {
      await makeDirs(join(dir, path), 0o755);
    } catch (error) {
      // A file of the volume has the name: the runtime mounts on that.
      if (errnoOf(error) === "EEXIST" && path.split("/").length === 1) continue;
      throw new KubeletError(
        "MountPoint",
        `unable to create nested volume mountpoints: ${messageOf(error)}`,
        { cause: error },
      );
    }
  }
}
