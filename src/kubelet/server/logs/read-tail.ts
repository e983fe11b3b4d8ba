import type { FileHandle } from "node:fs/promises";
import { readAt } from "../../../lib/host/regular-file.ts";
import { EntrySplitter } from "./entry-splitter.ts";
import { maxHeaderBytes, readEntry, readHeader } from "./log-entry.ts";
import { type OpenLog, readLog } from "./log-files.ts";
import type { TailSearch } from "./tail-search.ts";

const blockBytes = 64 * 1024;
const newline = 10;
const brace = 123;
/** A longer JSON entry is ignored, as in the output. */
const maxJsonBytes = 4 * 1024 * 1024;
/** Maximum recorded entries of a file that can only be read forward. */
const maxRecorded = 64 * 1024;

/** Passes the entries of a file to the search from its end on, until it has enough. */
export async function searchLog(search: TailSearch, log: OpenLog, file: number, end: number): Promise<void> {
  if (log.kind === "plain") await searchBackwards(search, log.file, file, end);
  else await searchForward(search, log, file);
}

async function searchBackwards(search: TailSearch, handle: FileHandle, file: number, end: number) {
  const buffer = Buffer.allocUnsafe(blockBytes + maxHeaderBytes);
  let entryEnd = end;
  for (let blockEnd = end; blockEnd > 0 && !search.done; ) {
    const start = Math.max(0, blockEnd - blockBytes);
    // The header of an entry may cross the end of the block.
    const size = Math.min(end - start, blockEnd - start + maxHeaderBytes);
    const block = buffer.subarray(0, size);
    // The file was truncated in the meantime.
    if ((await readAt(handle, block, start)) < size) return;
    for (let at = blockEnd - start; at > 0 && !search.done; ) {
      const before = block.lastIndexOf(newline, at - 1);
      at = before;
      if (before < 0 && start > 0) break;
      const entryAt = start + before + 1;
      if (entryAt < entryEnd) {
        const entry = await headerIn(handle, block.subarray(before + 1), entryAt, entryEnd);
        if (entry) search.entry({ ...entry, position: { file, offset: entryAt }, bytes: entryEnd - entryAt });
        entryEnd = entryAt;
      }
      if (before < 0) return;
    }
    blockEnd = start;
  }
}

/** Where the last whole entry ends. An entry that is longer than a block is not awaited. */
export async function lastEntryEnd(handle: FileHandle, end: number): Promise<number> {
  for (let size = 1; ; size = blockBytes) {
    const block = Buffer.allocUnsafe(Math.min(size, end));
    const start = end - block.length;
    if ((await readAt(handle, block, start)) < block.length) return end;
    const at = block.lastIndexOf(newline);
    if (at >= 0 || start === 0) return start + at + 1;
    if (size === blockBytes) return end;
  }
}

async function headerIn(handle: FileHandle, bytes: Buffer, entryAt: number, entryEnd: number) {
  if (bytes[0] !== brace) return readHeader(bytes, 0, Math.min(bytes.length, entryEnd - entryAt));
  if (entryEnd - entryAt > maxJsonBytes) return undefined;
  const json = Buffer.allocUnsafe(entryEnd - entryAt);
  await readAt(handle, json, entryAt);
  const entry = readEntry(json, 0, json.length, entryAt);
  return entry && { stream: entry.stream, partial: !entry.ends };
}

/** Reads forward and records the positions of entries, no more than the search can need. */
async function searchForward(search: TailSearch, log: OpenLog, file: number): Promise<void> {
  let entries: { stream: "stdout" | "stderr"; partial: boolean; at: number }[] = [];
  let limit = maxRecorded;
  let read = 0;
  const splitter = new EntrySplitter(({ stream, ends, at }) => {
    entries.push({ stream, partial: !ends, at });
    if (entries.length < limit) return;
    entries = entries.slice(needed(entries, search.missing));
    limit = entries.length + maxRecorded;
  });
  for await (const chunk of readLog(log, 0)) {
    read += chunk.length;
    splitter.push(chunk);
  }
  splitter.end({ ends: true });
  for (let end = read; entries.length > 0 && !search.done; ) {
    const { stream, partial, at } = entries.pop()!;
    search.entry({ stream, partial, position: { file, offset: at }, bytes: end - at });
    end = at;
  }
}

/** The first recorded entry that is needed to find this many lines, with enough before it for the first line. */
function needed(entries: { partial: boolean }[], lines: number): number {
  let from = entries.length;
  for (let left = lines; from > 0 && left > 0; from--) if (!entries[from - 1]!.partial) left--;
  return Math.max(0, from - 4096);
}
