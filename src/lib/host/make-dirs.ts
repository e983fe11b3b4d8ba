import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { errnoOf } from "../base/errors.ts";

/**
 * Creates a directory and its parents. Unlike mkdir with `recursive`, it reports the cause of a failure (EROFS,
 * ENOSPC), not ENOENT.
 */
export async function makeDirs(dir: string, mode: number): Promise<void> {
  try {
    await makeDir(dir, mode);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT" || dirname(dir) === dir) throw error;
    await makeDirs(dirname(dir), mode);
    // It retries only once: some filesystems, such as proc, return the same error if the parent exists.
    await makeDir(dir, mode);
  }
}

async function makeDir(dir: string, mode: number): Promise<void> {
  try {
    await mkdir(dir, mode);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST" || !(await stat(dir)).isDirectory()) throw error;
  }
}

/** Does the work in a directory, which usually exists; otherwise it is created first. */
export async function inDir(dir: string, mode: number, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    await makeDirs(dir, mode);
    await work();
  }
}
