import { constants } from "node:fs";
import { type FileHandle, lstat, open, opendir, readdir, stat } from "node:fs/promises";
import { errnoOf } from "../base/errors.ts";

/** File names are bytes: one that is not UTF-8 would be lost as text. */
export type RawPath = Buffer;

const slash = Buffer.from("/");
/** The kernel takes paths of 4096 bytes, and containers can make longer ones: room for a name is left. */
export const longestPath = 3_500;

export function rawJoin(folder: RawPath, name: Buffer): RawPath {
  return Buffer.concat([folder, slash, name]);
}

/** The names in a folder, some at a time: it may have millions. */
export async function* namesIn(folder: RawPath, together: number): AsyncGenerator<Buffer[]> {
  const encoding = "buffer" as BufferEncoding; // which the types do not know of here
  const dir = await opendir(folder, { encoding, bufferSize: 256 });
  let names: Buffer[] = [];
  for await (const { name } of dir) {
    names.push(name as unknown as Buffer);
    if (names.length < together) continue;
    yield names;
    names = [];
  }
  if (names.length > 0) yield names;
}

/** A short path to a folder, good for as long as it is open. Fails if the folder's place was taken by a link. */
export async function shortened(folder: RawPath): Promise<{ path: RawPath; handle: FileHandle }> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const handle = await open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  return { path: Buffer.from(`/proc/self/fd/${handle.fd}`), handle };
}

/** The names in a folder; none if there is no such folder. */
export async function listDir(folder: string): Promise<string[]> {
  return readdir(folder).catch((error) => {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return [];
    throw error;
  });
}

/** Whether there is something at a path, at the end of its links. */
export function exists(path: string): Promise<boolean> {
  return isFound(stat(path));
}

/** Whether there is something at a path; a link counts whatever it leads to. */
export function entryExists(path: string): Promise<boolean> {
  return isFound(lstat(path));
}

function isFound(looked: Promise<unknown>): Promise<boolean> {
  return looked.then(
    () => true,
    (error) => {
      if (errnoOf(error) === "ENOENT") return false;
      throw error;
    },
  );
}
