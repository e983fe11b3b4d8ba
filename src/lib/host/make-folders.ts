import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { errnoOf } from "../base/errors.ts";

/** Makes a folder and those above it. Unlike mkdir with `recursive`, it says why it could not (EROFS, ENOSPC), not ENOENT. */
export async function makeFolders(dir: string, mode: number): Promise<void> {
  try {
    await mkdir(dir, mode);
  } catch (error) {
    if (errnoOf(error) === "ENOENT" && dirname(dir) !== dir) {
      await makeFolders(dirname(dir), mode);
      return makeFolders(dir, mode);
    }
    if (errnoOf(error) !== "EEXIST" || !(await stat(dir)).isDirectory()) throw error;
  }
}
