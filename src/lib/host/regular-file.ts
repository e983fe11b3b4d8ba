import { constants } from "node:fs";
import { type FileHandle, lstat, open, stat } from "node:fs/promises";
import { KubeletError } from "../base/errors.ts";
import type { RawPath } from "./entries.ts";

/**
 * Opens a file that a container may have replaced. Only a regular file is opened: a pipe would
 * block, a device might have side effects, and a link may lead out of the container's files.
 */
export async function openRegularFile(
  path: string | RawPath,
  options: { follow: boolean },
): Promise<FileHandle> {
  const { follow } = options;
  // A device is rejected before it is opened; a replacement after that is rejected below.
  demandRegular(path, await (follow ? stat(path) : lstat(path)));
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
  const file = await open(path, O_RDONLY | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW));
  try {
    demandRegular(path, await file.stat());
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** The last bytes of a file, at most `limit`. */
export async function readEnd(file: FileHandle, limit: number): Promise<Buffer> {
  const { size } = await file.stat();
  const buffer = Buffer.alloc(Math.min(size, limit));
  return buffer.subarray(0, await readAt(file, buffer, size - buffer.length));
}

/** Fills the buffer from this position; returns the number of bytes read. */
export async function readAt(file: FileHandle, buffer: Buffer, position: number): Promise<number> {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled;
}

function demandRegular(path: string | RawPath, found: { isFile(): boolean; isDirectory(): boolean }): void {
  if (found.isFile()) return;
  const what = found.isDirectory() ? "is a directory" : "not a regular file";
  throw new KubeletError("NotRegularFile", `read ${path}: ${what}`);
}
