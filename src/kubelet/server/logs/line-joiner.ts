import type { LogEntry, LogStream } from "./log-entry.ts";
import { formatLogTime, type LogTime, TimeFilter } from "./log-time.ts";

export interface LineOptions {
  /** Joins lines of this stream only; by default of both. */
  readonly stream?: LogStream;
  /** Lines that started earlier are omitted. */
  readonly since?: LogTime;
  readonly timestamps?: boolean;
  readonly limitBytes?: number;
}

const newline = Buffer.from("\n");
/** Limits of entries that wait for the end of the other stream's line. */
const maxBufferedBytes = 64 * 1024;

/**
 * Joins partial entries to lines. While a line of one stream is incomplete, entries of the other wait, so that lines are not
 * interleaved. The wait is bounded in time (`settle`) and size.
 */
export class LineJoiner {
  readonly #o: LineOptions;
  /** The stream of the incomplete line. */
  #open: LogStream | undefined;
  #buffered: LogEntry[] = [];
  #bufferedBytes = 0;
  /** Streams that are within a line, and whether that line is shown. */
  #within = new Map<LogStream, boolean>();
  #out: Buffer[] = [];
  #outBytes = 0;
  #remainingBytes: number;
  readonly #old: TimeFilter | undefined;

  constructor(options: LineOptions) {
    this.#o = options;
    this.#old = options.since && new TimeFilter(options.since);
    this.#remainingBytes = options.limitBytes ?? Number.POSITIVE_INFINITY;
  }

  /** The byte limit is reached. */
  get full(): boolean {
    return this.#remainingBytes <= 0;
  }

  push(entry: LogEntry): void {
    if (this.#o.stream && entry.stream !== this.#o.stream) return;
    if (this.#open !== undefined && this.#open !== entry.stream) return this.#buffer(entry);
    this.#add(entry);
    if (this.#open === undefined && this.#buffered.length > 0)
      this.#release((buffered) => this.push(buffered));
  }

  /** The end of the available data. */
  settle(): void {
    if (this.#buffered.length === 0) return;
    this.#release((buffered) => this.#add(buffered));
    this.#open = undefined;
  }

  /** The pending output. */
  take(): Buffer {
    const bytes = Buffer.concat(this.#out, this.#outBytes);
    this.#out = [];
    this.#outBytes = 0;
    return bytes;
  }

  #buffer(entry: LogEntry): void {
    const stamp = entry.stamp();
    this.#buffered.push({ ...entry, text: Buffer.from(entry.text), stamp: () => stamp });
    this.#bufferedBytes += entry.text.length + newline.length;
    if (this.#bufferedBytes > maxBufferedBytes) this.settle();
  }

  #release(take: (entry: LogEntry) => void): void {
    const buffered = this.#buffered;
    this.#buffered = [];
    this.#bufferedBytes = 0;
    for (const entry of buffered) take(entry);
  }

  #add(entry: LogEntry): void {
    const { stream, ends, text } = entry;
    let shown = this.#within.get(stream);
    const begins = shown === undefined;
    shown ??= !this.#old?.isOlder(entry.stamp());
    if (ends) this.#within.delete(stream);
    else this.#within.set(stream, shown);
    if (!ends) this.#open = stream;
    else if (this.#open === stream) this.#open = undefined;
    if (!shown) return;
    if (begins && this.#o.timestamps) this.#write(Buffer.from(`${formatLogTime(entry.stamp())} `, "latin1"));
    this.#write(text);
    if (ends) this.#write(newline);
  }

  #write(bytes: Buffer): void {
    if (bytes.length === 0 || this.#remainingBytes <= 0) return;
    const part = bytes.length > this.#remainingBytes ? bytes.subarray(0, this.#remainingBytes) : bytes;
    this.#remainingBytes -= part.length;
    this.#out.push(part);
    this.#outBytes += part.length;
  }
}
