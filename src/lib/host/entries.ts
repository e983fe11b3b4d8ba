import { constants } from "node:fs";
import { type FileHandle, lstat, open, opendir, readdir, stat } from "node:fs/promises";
import { errnoOf } from "../base/errors.ts";

/** File names are bytes: one that is not UTF-8 would be lost as text. */
export type RawPath = Buffer;

const slash = Buffer.from("/");
/** The kernel accepts paths of 4096 bytes, and containers can create longer ones: space for a name is left. */
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
    names.push(name as unknown as Buffer);
    if (names.length < batchSize) continue;
    yield names;
    names = [];
  }
  if (names.length > 0) yield names;
}

/** A short path to a directory, valid while it is open. Fails if the directory was replaced by a link. */
export async function shortened(directory: RawPath): Promise<{ path: RawPath; handle: FileHandle }> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const handle = await open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  return { path: Buffer.from(`/proc/self/fd/${handle.fd}`), handle };
}

/** The names in a directory; none if it does not exist. */
export async function listDir(directory: string): Promise<string[]> {
  return readdir(directory).catch((error) => {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return [];
    throw error;
  });
}

/** Whether a path exists, following links. */
export function exists(path: string): Promise<boolean> {
  return isFound(stat(path));
}

/** Whether a path exists; true for a dangling link. */
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
