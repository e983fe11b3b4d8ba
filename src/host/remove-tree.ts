import { lstat, readdir, realpath, rm, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf, KubeletError } from "../base/errors.ts";
import { readMountsBelow } from "./mount-table.ts";

/**
 * Removes a folder with all that is in it, unless something is mounted there: to delete through a mount would delete what is
 * mounted. What is not there is as good as removed.
 */
export async function removeTree(dir: string): Promise<void> {
  await refuseMounts(dir);
  await rm(dir, { recursive: true, force: true });
}

/** Removes folders that are empty or hold nothing but empty folders; any file in them is an error. */
export async function removeEmptyTree(dir: string): Promise<void> {
  await refuseMounts(dir);
  await removeFolders(dir);
}

async function removeFolders(dir: string): Promise<void> {
  const entries = await readdir(dir, { withFileTypes: true }).catch((error) => {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  });
  for (const entry of entries) {
    const path = join(dir, entry.name);
    if (!entry.isDirectory()) throw new KubeletError("ENOTEMPTY", `remove ${dir}: ${path} is not a folder`);
    await removeFolders(path);
  }
  await removeEntry(dir);
}

/** Removes one file or empty folder. */
export async function removeEntry(path: string): Promise<void> {
  try {
    if ((await lstat(path)).isDirectory()) await rmdir(path);
    else await unlink(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

async function refuseMounts(dir: string): Promise<void> {
  const real = await realpath(dir).catch((error) => {
    if (errnoOf(error) === "ENOENT") return dir;
    throw error;
  });
  const below = readMountsBelow(real);
  if (below.length > 0)
    throw new KubeletError("EBUSY", `remove ${dir}: still has mounts: ${below.join(", ")}`);
}
