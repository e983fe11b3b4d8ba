import type { FileHandle } from "node:fs/promises";
import { readAt } from "../../../lib/host/regular-file.ts";
import { type OpenLog, readLog } from "./log-files.ts";
import { maxHeadBytes, readHead, readRow } from "./log-row.ts";
import { RowSplitter } from "./row-splitter.ts";
import type { TailSearch } from "./tail-search.ts";

const blockBytes = 64 * 1024;
const newline = 10;
const brace = 123;
/** A longer JSON row is ignored, as in the output. */
const maxJsonBytes = 4 * 1024 * 1024;
/** Maximum recorded rows of a file that can only be read forward. */
const maxNotes = 64 * 1024;

/** Passes the rows of a file to the search from its end on, until it has enough. */
export async function searchLog(search: TailSearch, log: OpenLog, file: number, end: number): Promise<void> {
  if (log.kind === "plain") await searchBackwards(search, log.file, file, end);
  else await searchNotes(search, log, file);
}

async function searchBackwards(search: TailSearch, handle: FileHandle, file: number, end: number) {
  const buffer = Buffer.allocUnsafe(blockBytes + maxHeadBytes);
  let rowEnd = end;
  for (let blockEnd = end; blockEnd > 0 && !search.done; ) {
    const start = Math.max(0, blockEnd - blockBytes);
    // The head of a row may cross the end of the block.
    const size = Math.min(end - start, blockEnd - start + maxHeadBytes);
    const block = buffer.subarray(0, size);
    // The file was truncated in the meantime.
    if ((await readAt(handle, block, start)) < size) return;
    for (let at = blockEnd - start; at > 0 && !search.done; ) {
      const before = block.lastIndexOf(newline, at - 1);
      at = before;
      if (before < 0 && start > 0) break;
      const rowAt = start + before + 1;
      if (rowAt < rowEnd) {
        const row = await rowIn(handle, block.subarray(before + 1), rowAt, rowEnd);
        if (row) search.row({ ...row, position: { file, offset: rowAt }, bytes: rowEnd - rowAt });
        rowEnd = rowAt;
      }
      if (before < 0) return;
    }
    blockEnd = start;
  }
}

/** Where the last whole row ends. A row that is longer than a block is not awaited. */
export async function lastRowEnd(handle: FileHandle, end: number): Promise<number> {
  for (let size = 1; ; size = blockBytes) {
    const block = Buffer.allocUnsafe(Math.min(size, end));
    const start = end - block.length;
    if ((await readAt(handle, block, start)) < block.length) return end;
    const at = block.lastIndexOf(newline);
    if (at >= 0 || start === 0) return start + at + 1;
    if (size === blockBytes) return end;
  }
}

async function rowIn(handle: FileHandle, bytes: Buffer, rowAt: number, rowEnd: number) {
  if (bytes[0] !== brace) return readHead(bytes, 0, Math.min(bytes.length, rowEnd - rowAt));
  if (rowEnd - rowAt > maxJsonBytes) return undefined;
  const row = Buffer.allocUnsafe(rowEnd - rowAt);
  await readAt(handle, row, rowAt);
  const piece = readRow(row, 0, row.length, rowAt);
  return piece && { stream: piece.stream, partial: !piece.ends };
}

/** Reads forward and records the positions of rows, no more than the search can need. */
async function searchNotes(search: TailSearch, log: OpenLog, file: number): Promise<void> {
  let rows: { stream: "stdout" | "stderr"; partial: boolean; at: number }[] = [];
  let limit = maxNotes;
  let read = 0;
  const splitter = new RowSplitter(({ stream, ends, at }) => {
    rows.push({ stream, partial: !ends, at });
    if (rows.length < limit) return;
    rows = rows.slice(needed(rows, search.missing));
    limit = rows.length + maxNotes;
  });
  for await (const chunk of readLog(log, 0)) {
    read += chunk.length;
    splitter.push(chunk);
  }
  splitter.end({ ends: true });
  for (let end = read; rows.length > 0 && !search.done; ) {
    const { stream, partial, at } = rows.pop()!;
    search.row({ stream, partial, position: { file, offset: at }, bytes: end - at });
    end = at;
  }
}

/** The first recorded row that is needed to find this many lines, with enough before it for the first line. */
function needed(rows: { partial: boolean }[], lines: number): number {
  let from = rows.length;
  for (let left = lines; from > 0 && left > 0; from--) if (!rows[from - 1]!.partial) left--;
  return Math.max(0, from - 4096);
}
