import {
  type EntryHeader,
  entryOf,
  type LogEntry,
  maxHeaderBytes,
  readEntry,
  readHeader,
} from "./log-entry.ts";

const newline = 10;
const none = Buffer.alloc(0);
/** A longer entry is split, so that memory never holds more than this of one entry. */
const maxEntryBytes = 256 * 1024;
/** A JSON entry can only be parsed as a whole. */
const maxJsonBytes = 4 * 1024 * 1024;

/** Splits the content of one log file into entries. */
export class EntrySplitter {
  readonly #emit: (entry: LogEntry) => void;
  /** The offset of the current entry in the file. */
  #entryAt: number;
  #carry = none;
  /** The header of an entry that is being split; null if it is invalid. */
  #oversized: EntryHeader | null | undefined;
  /** How many bytes of the oversized entry were emitted. */
  #emittedBytes = 0;

  constructor(emit: (entry: LogEntry) => void, at = 0) {
    this.#emit = emit;
    this.#entryAt = at;
  }

  /** True if the last entry is incomplete. */
  get midEntry(): boolean {
    return this.#carry.length > 0 || this.#oversized !== undefined;
  }

  /** The chunk may be used again afterwards. */
  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      if (this.midEntry) this.#endCarriedEntry(chunk.subarray(start, end));
      else this.#entry(chunk, start, end);
      start = end + 1;
    }
    if (start === chunk.length) return;
    this.#carry = Buffer.concat([this.#carry, chunk.subarray(start)]);
    this.#emitOversizedEntry();
  }

  /**
   * The end of the file. The incomplete last entry is passed on; `ends`: whether its line ends there.
   */
  end({ ends }: { ends: boolean }): void {
    if (this.midEntry) this.#endCarriedEntry(none, ends);
  }

  /** Another file starts, or the same one again. */
  restart(): void {
    this.#carry = none;
    this.#oversized = undefined;
    this.#emittedBytes = 0;
    this.#entryAt = 0;
  }

  #entry(bytes: Buffer, start: number, end: number, ends = true): void {
    const entry = readEntry(bytes, start, end, this.#entryAt);
    this.#entryAt += end - start + 1;
    if (entry) this.#emit(ends ? entry : { ...entry, ends });
  }

  #endCarriedEntry(rest: Buffer, ends = true): void {
    const entry = rest.length > 0 ? Buffer.concat([this.#carry, rest]) : this.#carry;
    const header = this.#oversized;
    this.#carry = none;
    this.#oversized = undefined;
    if (header === undefined) return this.#entry(entry, 0, entry.length, ends);
    if (header) this.#emit(entryOf(header, entry, this.#entryAt, ends && !header.partial));
    this.#entryAt += this.#emittedBytes + entry.length + 1;
    this.#emittedBytes = 0;
  }

  #emitOversizedEntry(): void {
    const entry = this.#carry;
    const isJson = this.#oversized === undefined && entry[0] === 123;
    if (entry.length < (isJson ? maxJsonBytes : maxEntryBytes)) return;
    let textAt = 0;
    if (this.#oversized === undefined) {
      // Its time is parsed later, when the buffer may have other content.
      const header = readHeader(Buffer.from(entry.subarray(0, maxHeaderBytes)), 0, maxHeaderBytes);
      this.#oversized = header ?? null;
      textAt = header?.textAt ?? 0;
    }
    if (this.#oversized) this.#emit(entryOf(this.#oversized, entry.subarray(textAt), this.#entryAt, false));
    this.#emittedBytes += entry.length;
    this.#carry = none;
  }
}
