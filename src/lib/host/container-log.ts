import type { FileHandle } from "node:fs/promises";
import { lastUtf8 } from "../base/utf8.ts";
import { openRegularFile, readAt } from "./regular-file.ts";

const chunkBytes = 64 * 1024;
/** The maximum number of bytes to search for entries. Runtimes write entries of at most 16 KiB, so a file that has none in this many bytes is not a log. */
const maxReadBytes = 16 * 1024 * 1024;

export interface TailOptions {
  /** The maximum number of lines; all by default. A line that the runtime wrote in several entries counts once. */
  lines?: number;
  /** The maximum number of bytes. The memory that is used depends on this maximum, not on the size of the file. */
  bytes: number;
}

/**
 * The end of a container's log, as the container wrote it. The file has the format that all CRI runtimes write:
 * `time stream tag text`, with the tag F for the end of a line and P for a partial line that continues in the next entry.
 */
export async function tailLog(path: string, options: TailOptions): Promise<string> {
  const { lines = Number.POSITIVE_INFINITY, bytes } = options;
  const file = await openRegularFile(path, { follow: true });
  try {
    const tail = new Tail(lines, bytes);
    for await (const entry of entriesFromEnd(file, bytes)) if (tail.add(entry)) break;
    return tail.text();
  } finally {
    await file.close();
  }
}

/** The last entries of a file, last first. Only the start and the last bytes of an oversized entry are kept. */
async function* entriesFromEnd(file: FileHandle, keepBytes: number): AsyncGenerator<Buffer> {
  const { size } = await file.stat();
  let rest: Buffer[] = [];
  let spare: Buffer | undefined;
  const first = Math.max(0, size - maxReadBytes);
  for (let end = size; end > first; ) {
    const start = Math.max(first, end - chunkBytes);
    const chunk: Buffer = spare?.length === end - start ? spare : Buffer.alloc(end - start);
    // The file was truncated in the meantime.
    if ((await readAt(file, chunk, start)) < chunk.length) return;
    let entryEnd = chunk.length;
    for (let at = chunk.lastIndexOf(10); at >= 0; at = at === 0 ? -1 : chunk.lastIndexOf(10, at - 1)) {
      const isEmpty = at + 1 === entryEnd && rest.length === 0;
      const entry = isEmpty ? undefined : Buffer.concat([chunk.subarray(at + 1, entryEnd), ...rest]);
      rest = [];
      entryEnd = at;
      if (entry && entry.length > 0) yield entry;
    }
    rest.unshift(chunk.subarray(0, entryEnd));
    spare = dropMiddle(rest, keepBytes);
    end = start;
  }
  const entry = Buffer.concat(rest);
  if (entry.length > 0 && first === 0) yield entry;
}

/**
 * Time, stream and tag of an entry may cross its first two chunks; only the last bytes of the others matter. The
 * dropped buffer is returned, to read the next chunk into it.
 */
function dropMiddle(chunks: Buffer[], keepBytes: number): Buffer | undefined {
  const kept = chunks.slice(3).reduce((sum, chunk) => sum + chunk.length, 0);
  return kept >= keepBytes ? chunks.splice(2, 1)[0] : undefined;
}

interface Line {
  /** Last first. */
  chunks: Buffer[];
  /** False for the end of a log whose last line is still being written. */
  ended: boolean;
}

/** Collects the entries of a log, last first, until it has enough. */
class Tail {
  readonly #maxLines: number;
  readonly #maxBytes: number;
  /** Last first. */
  #lines: Line[] = [];
  /** The line that partial entries of a stream belong to. */
  #current = new Map<string, Line>();
  #bytes = 0;

  constructor(maxLines: number, maxBytes: number) {
    this.#maxLines = maxLines;
    this.#maxBytes = maxBytes;
  }

  /** True if no more entries are needed. */
  add(bytes: Buffer): boolean {
    const entry = parseEntry(bytes);
    if (!entry) return false;
    const { stream, partial, text } = entry;
    let line = this.#current.get(stream);
    if (!partial || !line) {
      if (this.#lines.length >= this.#maxLines) return true;
      line = { chunks: [], ended: !partial };
      this.#lines.push(line);
      this.#current.set(stream, line);
      if (line.ended) this.#bytes++;
    }
    line.chunks.push(text);
    this.#bytes += text.length;
    return this.#bytes >= this.#maxBytes;
  }

  text(): string {
    const newline = Buffer.from("\n");
    const bytes = this.#lines
      .toReversed()
      .flatMap(({ chunks, ended }) => [...chunks.toReversed(), ...(ended ? [newline] : [])]);
    return lastUtf8(Buffer.concat(bytes), this.#maxBytes);
  }
}

/** Undefined if it is not a log entry, for example an entry that a crash truncated. */
function parseEntry(bytes: Buffer): { stream: string; partial: boolean; text: Buffer } | undefined {
  const [afterTime, afterStream, afterTags] = spaces(bytes);
  if (afterTime === undefined || afterStream === undefined || afterTags === undefined) return undefined;
  const stream = bytes.toString("latin1", afterTime + 1, afterStream);
  if (stream !== "stdout" && stream !== "stderr") return undefined;
  const [tag] = bytes.toString("latin1", afterStream + 1, afterTags).split(":");
  return { stream, partial: tag === "P", text: bytes.subarray(afterTags + 1) };
}

function spaces(bytes: Buffer): number[] {
  const found: number[] = [];
  for (let at = bytes.indexOf(32); at >= 0 && found.length < 3; at = bytes.indexOf(32, at + 1))
    found.push(at);
  return found;
}
