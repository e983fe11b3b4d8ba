import { type LogPiece, maxHeadBytes, pieceOf, type RowHead, readHead, readRow } from "./log-row.ts";

const newline = 10;
const none = Buffer.alloc(0);
/** A longer row is split, so that no row has to fit into memory. */
const maxRowBytes = 256 * 1024;
/** A JSON row can only be parsed as a whole. */
const maxJsonBytes = 4 * 1024 * 1024;

/** Splits the content of one log file into parts of lines. */
export class RowSplitter {
  readonly #emit: (piece: LogPiece) => void;
  /** The offset of the current row in the file. */
  #rowAt: number;
  #carry = none;
  /** The head of a row that is being split; null if it is invalid. */
  #oversized: RowHead | null | undefined;
  /** How much of it was passed on. */
  #emittedBytes = 0;

  constructor(emit: (piece: LogPiece) => void, at = 0) {
    this.#emit = emit;
    this.#rowAt = at;
  }

  /** True if the last row is incomplete. */
  get midRow(): boolean {
    return this.#carry.length > 0 || this.#oversized !== undefined;
  }

  /** The chunk may be used again afterwards. */
  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      if (this.midRow) this.#endCarriedRow(chunk.subarray(start, end));
      else this.#row(chunk, start, end);
      start = end + 1;
    }
    if (start === chunk.length) return;
    this.#carry = Buffer.concat([this.#carry, chunk.subarray(start)]);
    this.#emitOversizedRow();
  }

  /**
   * The end of the file. The incomplete last row is passed on; `ends`: whether its line ends there.
   */
  end({ ends }: { ends: boolean }): void {
    if (this.midRow) this.#endCarriedRow(none, ends);
  }

  /** Another file starts, or the same one again. */
  restart(): void {
    this.#carry = none;
    this.#oversized = undefined;
    this.#emittedBytes = 0;
    this.#rowAt = 0;
  }

  #row(bytes: Buffer, start: number, end: number, ends = true): void {
    const piece = readRow(bytes, start, end, this.#rowAt);
    this.#rowAt += end - start + 1;
    if (piece) this.#emit(ends ? piece : { ...piece, ends });
  }

  #endCarriedRow(rest: Buffer, ends = true): void {
    const row = rest.length > 0 ? Buffer.concat([this.#carry, rest]) : this.#carry;
    const head = this.#oversized;
    this.#carry = none;
    this.#oversized = undefined;
    if (head === undefined) return this.#row(row, 0, row.length, ends);
    if (head) this.#emit(pieceOf(head, row, this.#rowAt, ends && !head.partial));
    this.#rowAt += this.#emittedBytes + row.length + 1;
    this.#emittedBytes = 0;
  }

  #emitOversizedRow(): void {
    const row = this.#carry;
    const isJson = this.#oversized === undefined && row[0] === 123;
    if (row.length < (isJson ? maxJsonBytes : maxRowBytes)) return;
    let textAt = 0;
    if (this.#oversized === undefined) {
      // Its time is parsed later, when the buffer may have other content.
      const head = readHead(Buffer.from(row.subarray(0, maxHeadBytes)), 0, maxHeadBytes);
      this.#oversized = head ?? null;
      textAt = head?.textAt ?? 0;
    }
    if (this.#oversized) this.#emit(pieceOf(this.#oversized, row.subarray(textAt), this.#rowAt, false));
    this.#emittedBytes += row.length;
    this.#carry = none;
  }
}
