import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, lstat, open, stat } from "node:fs/promises";
import { errnoOf, messageOf } from "../../../lib/base/errors.ts";
import { maxManifestBytes } from "./source.ts";

/** `stamp` identifies a state of a file: as long as it does not change, neither does the content. */
export type FileRead =
  | { kind: "content"; stamp: string; bytes: Buffer }
  | { kind: "unchanged" }
  /** A process is writing to it, or wrote during the read. */
  | { kind: "busy"; stamp: string }
  | { kind: "rejected"; stamp: string; message: string }
  | { kind: "gone" };

export interface ReadOptions {
  /** The stamp of the known state. */
  known?: string;
  isOpenForWriting: (fd: number) => boolean | undefined;
  /** Read it even if a process still has it open for writing. */
  evenIfOpen?: boolean;
}

/** Reads a manifest without blocking on a file that is not regular, and without reading one that is too large. */
export async function readManifestFile(path: string, options: ReadOptions): Promise<FileRead> {
  let file: FileHandle | undefined;
  try {
    const before = await stat(path, { bigint: true });
    const stamp = stampOf(before);
    if (stamp === options.known) return { kind: "unchanged" };
    const message = problemOf(before);
    if (message) return { kind: "rejected", stamp, message };
    // Non-blocking, as the file may have been replaced by a pipe since.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    if (stampOf(await file.stat({ bigint: true })) !== stamp) return { kind: "busy", stamp };
    if (!options.evenIfOpen && options.isOpenForWriting(file.fd)) return { kind: "busy", stamp };
    const bytes = await readAll(file, Number(before.size));
    const after = stampOf(await file.stat({ bigint: true }));
    return after === stamp ? { kind: "content", stamp, bytes } : { kind: "busy", stamp: after };
  } catch (error) {
    return await failed(path, error, options.known);
  } finally {
    await file?.close();
  }
}

async function failed(path: string, error: unknown, known: string | undefined): Promise<FileRead> {
  const code = errnoOf(error) ?? messageOf(error);
  const stamp = `error ${code}`;
  if (code === "ENOENT") {
    const link = await lstat(path).catch(() => undefined);
    if (!link) return { kind: "gone" };
    return stamp === known
      ? { kind: "unchanged" }
      : { kind: "rejected", stamp, message: "a symbolic link to something that does not exist" };
  }
  if (stamp === known) return { kind: "unchanged" };
  const reasons: Record<string, string> = {
    EACCES: "permission denied",
    EPERM: "permission denied",
    ELOOP: "a symbolic link to itself",
    EIO: "input/output error",
  };
  return { kind: "rejected", stamp, message: `cannot be read: ${reasons[code] ?? messageOf(error)}` };
}

function problemOf(file: BigIntStats): string | undefined {
  if (file.isDirectory()) return "a directory: subdirectories of the manifest directory are not read";
  if (file.isFIFO()) return "a named pipe, not a regular file";
  if (file.isSocket()) return "a socket, not a regular file";
  if (!file.isFile()) return "a device, not a regular file";
  if (file.size > BigInt(maxManifestBytes))
    return `${(Number(file.size) / 1024 / 1024).toFixed(1)} MiB: a manifest has at most ${maxManifestBytes / 1024 / 1024} MiB`;
  return undefined;
}

async function readAll(file: FileHandle, size: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(size);
  let length = 0;
  while (length < size) {
    const { bytesRead } = await file.read(buffer, length, size - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}

function stampOf(file: BigIntStats): string {
  return `${file.dev}:${file.ino}:${file.size}:${file.mtimeNs}:${file.ctimeNs}`;
}
