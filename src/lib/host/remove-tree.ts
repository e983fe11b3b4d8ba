import { lstat, readlink, realpath, rename, rmdir, unlink } from "node:fs/promises";
import { allDone } from "../base/all-done.ts";
import { errnoOf, KubeletError } from "../base/errors.ts";
import type { RawPath } from "./entries.ts";
import { readMountsBelow } from "./mount-table.ts";
import { isReplaced, OpenDir } from "./open-dir.ts";

/** How many files are removed concurrently: other calls need the thread pool too. */
const concurrency = 32;
/** A directory that changes while it is read may not list all of its names. */
const maxTries = 3;
/** How many directories are open at once, each twice. Directories that are nested deeper are first moved up. */
const maxDepth = 64;

/**
 * Removes a directory recursively, unless something is mounted in it: that would delete the content of the
 * mount. A missing directory is not an error. Links are removed and never followed, not even those that replace a directory in
 * the meantime: another container may still have the directory open.
 */
export async function removeTree(dir: string): Promise<void> {
  await rejectMounts(dir);
  const top = await lstat(dir).catch(unlessGone);
  if (!top?.isDirectory()) return removeEntry(dir);
  await new Removal(dir, removeFile).run();
}

/** Removes directories that contain only empty directories; any file in them is an error. */
export async function removeEmptyTree(dir: string): Promise<void> {
  await rejectMounts(dir);
  await new Removal(dir, rejectFile).run();
}

/** Removes an entry. Returns false if the entry is a directory that has to be emptied first. */
type RemoveEntry = (directory: OpenDir, name: Buffer) => Promise<boolean>;

class Removal {
  readonly #top: string;
  readonly #removeEntry: RemoveEntry;
  /** The names of directories that were moved to the top. */
  readonly #moved: Buffer[] = [];
  #moves = 0;

  constructor(top: string, removeEntry: RemoveEntry) {
    this.#top = top;
    this.#removeEntry = removeEntry;
  }

  async run(): Promise<void> {
    const open = () => OpenDir.open(this.#top).catch(unlessGone);
    await this.#remove(Buffer.from(this.#top), open, async (top) => {
      await this.#empty(top, top, 1);
      for (let name = this.#moved.pop(); name; name = this.#moved.pop())
        await this.#removeBelow(top, top, name, 1);
    });
  }

  async #remove(
    path: RawPath,
    open: () => Promise<OpenDir | undefined>,
    empty: (dir: OpenDir) => Promise<void>,
  ): Promise<void> {
    for (let tries = 1; ; tries++) {
      const dir = await open();
      if (!dir) return;
      try {
        await empty(dir);
      } finally {
        dir.close();
      }
      if (await removeEmpty(path, tries === maxTries)) return;
    }
  }

  async #empty(top: OpenDir, dir: OpenDir, depth: number): Promise<void> {
    for await (const names of dir.names(concurrency)) {
      const removed = await allDone(names.map((name) => this.#removeEntry(dir, name)));
      for (const [index, name] of names.entries())
        if (!removed[index]) await this.#removeBelow(top, dir, name, depth);
    }
  }

  async #removeBelow(top: OpenDir, parent: OpenDir, name: Buffer, depth: number): Promise<void> {
    if (depth > maxDepth && (await this.#move(top, parent, name))) return;
    const open = () => parent.enter(name).catch((error) => this.#rejectMount(error));
    await this.#remove(parent.at(name), open, (dir) => this.#empty(top, dir, depth + 1));
  }

  /** False if it cannot be moved: the disk may be full. */
  async #move(top: OpenDir, parent: OpenDir, name: Buffer): Promise<boolean> {
    for (;;) {
      const moved = Buffer.from(`.removed-${this.#moves++}`);
      try {
        await rename(parent.at(name), top.at(moved));
        this.#moved.push(moved);
        return true;
      } catch (error) {
        if (!["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(errnoOf(error) ?? "")) return false; // otherwise the name exists
      }
    }
  }

  /** The mount table was read before: later mounts are not in it. */
  #rejectMount(error: unknown): never {
    if (errnoOf(error) !== "EXDEV") throw error;
    throw new KubeletError("EBUSY", `remove ${this.#top}: something was mounted in it`, { cause: error });
  }
}

async function removeFile(directory: OpenDir, name: Buffer): Promise<boolean> {
  try {
    await unlink(directory.at(name));
  } catch (error) {
    if (errnoOf(error) === "EISDIR") return false;
    unlessGone(error);
  }
  return true;
}

async function rejectFile(directory: OpenDir, name: Buffer): Promise<boolean> {
  try {
    await rmdir(directory.at(name));
  } catch (error) {
    if (errnoOf(error) === "ENOTEMPTY") return false;
    if (errnoOf(error) === "ENOTDIR") {
      const path = await readlink(directory.path);
      throw new KubeletError("ENOTEMPTY", `remove ${path}: ${name} is not a directory`);
    }
    unlessGone(error);
  }
  return true;
}

/** False if it has to be emptied again. */
async function removeEmpty(path: RawPath, isLast: boolean): Promise<boolean> {
  try {
    await rmdir(path);
    return true;
  } catch (error) {
    // What replaced it is an entry of its parent, which is not empty then.
    if (isReplaced(error)) return true;
    if (isLast || errnoOf(error) !== "ENOTEMPTY") throw error;
    return false;
  }
}

function unlessGone(error: unknown): undefined {
  if (errnoOf(error) === "ENOENT") return undefined;
  throw error;
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
