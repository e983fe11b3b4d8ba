import { type FileHandle, readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { createGunzip } from "node:zlib";
import { errnoOf } from "../../../lib/base/errors.ts";
import { openRegularFile, readAt } from "../../../lib/host/regular-file.ts";

const compressedSuffix = ".gz";
const chunkBytes = 128 * 1024;
const minChunkBytes = 4 * 1024;
const headBytes = 256;

/**
 * The rotated files of a log, oldest first. Files are compressed later: the names here are without ".gz",
 * and opening tries both.
 */
export async function rotatedLogs(path: string): Promise<string[]> {
  const prefix = `${basename(path)}.`;
  let names: string[];
  try {
    names = await readdir(dirname(path));
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
  const found = new Set<string>();
  for (const name of names) {
    const plain = name.endsWith(compressedSuffix) ? name.slice(0, -compressedSuffix.length) : name;
    if (plain.startsWith(prefix) && /^\d{8}-\d{6}$/.test(plain.slice(prefix.length))) found.add(plain);
  }
  return [...found].sort((a, b) => (a < b ? -1 : 1));
}

/** A log file that is being read. The plain one may still be written to. */
export type OpenLog =
  | { readonly kind: "plain"; readonly file: FileHandle; readonly ino: number }
  | { readonly kind: "compressed"; readonly file: FileHandle };

export async function openLog(path: string): Promise<Extract<OpenLog, { kind: "plain" }>> {
  const file = await openRegularFile(path, { follow: true });
  const { ino } = await file.stat();
  return { kind: "plain", file, ino };
}

/** Undefined if rotation has removed it in the meantime, or if it is not a regular file: a pod may have a volume there. */
export async function openRotated(dir: string, name: string): Promise<OpenLog | undefined> {
  const path = join(dir, name);
  for (const open of [() => openLog(path), () => openCompressed(`${path}${compressedSuffix}`)]) {
    try {
      return await open();
    } catch (error) {
      if (!["ENOENT", "NotRegularFile"].includes(errnoOf(error) ?? "")) throw error;
    }
  }
  return undefined;
}

async function openCompressed(path: string): Promise<OpenLog> {
  return { kind: "compressed", file: await openRegularFile(path, { follow: true }) };
}

export async function closeLog(log: OpenLog): Promise<void> {
  await log.file.close();
}

/**
 * The content from a position, up to `end` or the current size. A chunk is valid until the next one is requested: it is
 * read into the same memory.
 */
export async function* readLog(log: OpenLog, from: number, end?: number): AsyncGenerator<Buffer> {
  if (log.kind === "compressed") {
    yield* unpacked(log.file, from);
    return;
  }
  const stop = end ?? Number.POSITIVE_INFINITY;
  const expected = Math.min((await log.file.stat()).size, stop) - from;
  if (expected <= 0) return;
  const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(minChunkBytes, expected)));
  for (let at = from; at < stop; ) {
    const want = Math.min(buffer.length, stop - at);
    const { bytesRead } = await log.file.read(buffer, 0, want, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

async function* unpacked(file: FileHandle, from: number): AsyncGenerator<Buffer> {
  const source = file.createReadStream({ start: 0, autoClose: false });
  const unzip = createGunzip();
  source.on("error", (error) => unzip.destroy(error));
  source.pipe(unzip);
  try {
    let skip = from;
    for await (const chunk of unzip as AsyncIterable<Buffer>) {
      if (skip < chunk.length) yield chunk.subarray(skip);
      skip = Math.max(0, skip - chunk.length);
    }
  } catch (error) {
    // A corrupt or removed file ends here; newer ones follow.
    const code = errnoOf(error) ?? "";
    if (!code.startsWith("Z_") && code !== "ENOENT") throw error;
  } finally {
    source.destroy();
    unzip.destroy();
  }
}

/** Its first bytes: with a nanosecond timestamp, they identify a log file. */
export async function headOf(log: OpenLog): Promise<Buffer> {
  if (log.kind === "plain") {
    const head = Buffer.alloc(headBytes);
    return head.subarray(0, await readAt(log.file, head, 0));
  }
  for await (const chunk of unpacked(log.file, 0)) return Buffer.from(chunk.subarray(0, headBytes));
  return Buffer.alloc(0);
}
