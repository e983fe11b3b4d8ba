import { lstat, opendir, readdir, stat } from "node:fs/promises";
import { errnoOf } from "../base/errors.ts";

/** File names are bytes: a name that is not valid UTF-8 does not survive conversion to a string. */
export type RawPath = Buffer;

const slash = Buffer.from("/");
/** PATH_MAX is 4096 bytes, but containers can create longer paths. Leaves room for one more name. */
export const maxPathLength = 3_500;

export function rawJoin(directory: RawPath, name: Buffer): RawPath {
  return Buffer.concat([directory, slash, name]);
}

/** The names in a directory, in batches: it may have millions. */
export async function* namesIn(directory: RawPath, batchSize: number): AsyncGenerator<Buffer[]> {
  const encoding = "buffer" as BufferEncoding; // missing in the types
  const dir = await opendir(directory, { encoding, bufferSize: 256 });
  let names: Buffer[] = [];
  for await (const { name } of dir) {
    names.push(name as unknown as Buffer); // by the encoding
    if (names.length < batchSize) continue;
    yield names;
    names = [];
  }
  if (names.length > 0) yield names;
}

/** The names in a directory; none if it does not exist. */
export async function listDir(directory: string): Promise<string[]> {
  return readdir(directory).catch((error) => {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return [];
    throw error;
  });
}

/** Whether a path exists, following symlinks. */
export function exists(path: string): Promise<boolean> {
  return isFound(stat(path));
}

/** Whether a path exists; true for a dangling symlink. */
export function entryExists(path: string): Promise<boolean> {
  return isFound(lstat(path));
}

function isFound(found: Promise<unknown>): Promise<boolean> {
  return found.then(
    () => true,
    (error) => {
      if (errnoOf(error) === "ENOENT") return false;
      throw error;
    },
  );
}
