import { lstat, readdir, realpath, rename, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf, KubeletError } from "../base/errors.ts";
import { maxPathLength, namesIn, type RawPath, rawJoin } from "./entries.ts";
import { readMountsBelow } from "./mount-table.ts";

/** How many files are removed concurrently: other calls need the thread pool too. */
const concurrency = 32;

/**
 * Removes a directory recursively, unless something is mounted in it: that would delete the content of the
 * mount. A missing directory is not an error. Links are removed and never followed.
 */
export async function removeTree(dir: string): Promise<void> {
  await rejectMounts(dir);
  const top = await lstat(dir).catch(unlessGone);
  if (!top?.isDirectory()) return removeEntry(dir);
  const root = Buffer.from(dir);
  const pending: PendingDir[] = [{ path: root, tries: 1, isEmptied: false }];
  let moved = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { tries, isEmptied } = next;
    let { path } = next;
    if (isEmptied) {
      const isGone = await removeEmpty(path, tries === maxTries);
      if (!isGone) pending.push({ path, tries: tries + 1, isEmptied: false });
      continue;
    }
    // A container can nest directories deeper than PATH_MAX: these are removed from the top.
    if (path.length > maxPathLength) path = await moveTo(root, path, () => moved++);
    pending.push({ path, tries, isEmptied: true });
    for (const name of await removeFiles(path, top.dev))
      pending.push({ path: rawJoin(path, name), tries: 1, isEmptied: false });
  }
}

interface PendingDir {
  readonly path: RawPath;
  readonly tries: number;
  /** It is empty now. */
  readonly isEmptied: boolean;
}

/** A directory that changes while it is read may not list all of its names. */
const maxTries = 3;

async function removeEmpty(path: RawPath, isLast: boolean): Promise<boolean> {
  try {
    await rmdir(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return true;
    if (isLast || errnoOf(error) !== "ENOTEMPTY") throw error;
    return false;
  }
}

async function moveTo(root: RawPath, path: RawPath, next: () => number): Promise<RawPath> {
  for (;;) {
    const short = rawJoin(root, Buffer.from(`.removed-${next()}`));
    try {
      await rename(path, short);
      return short;
    } catch (error) {
      if (!["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(errnoOf(error) ?? "")) throw error; // the name exists
    }
  }
}

/** Removes everything in a directory but subdirectories, which are returned. */
async function removeFiles(directory: RawPath, device: number): Promise<Buffer[]> {
  const found = await lstat(directory).catch(unlessGone);
  if (!found) return [];
  // The mount table was read before: later mounts are not in it.
  if (found.dev !== device)
    throw new KubeletError("EBUSY", `remove ${directory}: it is on a different filesystem than its parent`);
  const dirs: Buffer[] = [];
  for await (const names of namesIn(directory, concurrency))
    await Promise.all(
      names.map((name) =>
        unlink(rawJoin(directory, name)).catch((error) => {
          if (errnoOf(error) === "EISDIR") dirs.push(name);
          else unlessGone(error);
        }),
      ),
    );
  return dirs;
}

function unlessGone(error: unknown): undefined {
  if (errnoOf(error) === "ENOENT") return undefined;
  throw error;
}

/** Removes directories that contain only empty directories; any file in them is an error. */
export async function removeEmptyTree(dir: string): Promise<void> {
  await rejectMounts(dir);
  await removeDirs(dir);
}

async function removeDirs(dir: string): Promise<void> {
  const entries = await readdir(dir, { withFileTypes: true }).catch((error) => {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  });
  for (const entry of entries) {
    const path = join(dir, entry.name);
    if (!entry.isDirectory())
      throw new KubeletError("ENOTEMPTY", `remove ${dir}: ${path} is not a directory`);
    await removeDirs(path);
  }
  await removeEntry(dir);
}

/** Removes one file or empty directory. */
export async function removeEntry(path: string): Promise<void> {
  try {
    if ((await lstat(path)).isDirectory()) await rmdir(path);
    else await unlink(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

async function rejectMounts(dir: string): Promise<void> {
  const real = await realpath(dir).catch((error) => {
    if (errnoOf(error) === "ENOENT") return dir;
    throw error;
  });
  const below = readMountsBelow(real);
  if (below.length > 0)
    throw new KubeletError("EBUSY", `remove ${dir}: still has mounts: ${below.join(", ")}`);
}
