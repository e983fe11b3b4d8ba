export type LogStream = "stdout" | "stderr";

/** An entry of a log file, or a part of one that is too large: a whole line, or a part of one. */
export interface LogEntry {
  readonly stream: LogStream;
  /** The line ends with this entry. */
  readonly ends: boolean;
  /** The text without its newline. It may be a view of a buffer that the next read overwrites: copy what you keep. */
  readonly text: Buffer;
  /** The time as the runtime wrote it. */
  readonly stamp: () => string;
  /** The offset of the entry in the file. */
  readonly at: number;
}

/** The header of an entry. */
export interface EntryHeader {
  readonly stream: LogStream;
  readonly partial: boolean;
  readonly stamp: () => string;
  /** The offset of its text in the buffer. */
  readonly textAt: number;
}

/** Maximum length of time, stream and tags. */
export const maxHeaderBytes = 128;

const space = 32;
const newline = 10;
const shortestStamp = "2026-01-31T00:00:00Z".length;

/**
 * Parses the header of an entry in the CRI log format: `time stream tags text`, where the first tag is P for a
 * partial line. Undefined for anything else, for example an entry that a crash truncated.
 */
export function readHeader(bytes: Buffer, start: number, end: number): EntryHeader | undefined {
  const limit = Math.min(end, start + maxHeaderBytes);
  let stampEnd = start + shortestStamp;
  while (stampEnd < limit && bytes[stampEnd] !== space) stampEnd++;
  // A cheap check of the time: year, T, and colons at their positions.
  if (stampEnd >= limit || bytes[start + 4] !== 45 || (bytes[start + 10]! | 32) !== 116) return undefined;
  if (bytes[start + 13] !== 58 || bytes[start + 16] !== 58) return undefined;
  const stream = streamAt(bytes, stampEnd + 1);
  if (!stream) return undefined;
  const tags = stampEnd + 2 + stream.length;
  let tagsEnd = tags;
  while (tagsEnd < limit && bytes[tagsEnd] !== space) tagsEnd++;
  if (tagsEnd >= limit) return undefined;
  // Other tags may follow: "P:x".
  const partial = bytes[tags] === 80 && (tagsEnd === tags + 1 || bytes[tags + 1] === 58);
  return { stream, partial, textAt: tagsEnd + 1, stamp: () => bytes.toString("latin1", start, stampEnd) };
}

/** "stdout " or "stderr ": distinguished by their fourth letter, then compared in full. */
function streamAt(bytes: Buffer, at: number): LogStream | undefined {
  const stream = bytes[at + 3] === 111 ? "stdout" : "stderr";
  for (let i = 0; i < stream.length; i++) if (bytes[at + i] !== stream.charCodeAt(i)) return undefined;
  return bytes[at + stream.length] === space ? stream : undefined;
}

/** A whole entry without its newline. */
export function readEntry(bytes: Buffer, start: number, end: number, at: number): LogEntry | undefined {
  if (bytes[start] === 123) return readJsonEntry(bytes.toString("utf8", start, end), at);
  const header = readHeader(bytes, start, end);
  return header && entryOf(header, bytes.subarray(header.textAt, end), at);
}

export function entryOf(header: EntryHeader, text: Buffer, at: number, ends = !header.partial): LogEntry {
  return { stream: header.stream, ends, text, stamp: header.stamp, at };
}

/** `{"log":"text\n","stream":"stdout","time":"…"}`, the format of Docker's json-file driver; the line ends with its text. */
function readJsonEntry(json: string, at: number): LogEntry | undefined {
  let value: { log?: unknown; stream?: unknown; time?: unknown } | null;
  try {
    value = JSON.parse(json) as typeof value;
  } catch {
    return undefined;
  }
  const { log = "", stream, time } = value ?? {};
  if (typeof log !== "string" || typeof time !== "string") return undefined;
  if (stream !== "stdout" && stream !== "stderr") return undefined;
  const text = Buffer.from(log);
  const ends = text.at(-1) === newline;
  return { stream, ends, text: ends ? text.subarray(0, -1) : text, stamp: () => time, at };
}
