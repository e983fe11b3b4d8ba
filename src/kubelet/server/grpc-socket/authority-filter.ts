import { Transform, type TransformCallback } from "node:stream";
import { withValidAuthority } from "./header-block.ts";

const prefaceBytes = 24;
const headBytes = 9;
const headers = 1;
const flags = { endHeaders: 0x4, padded: 0x8, priority: 0x20 };
/** Default maximum frame size. */
const maxPayload = 16_384;

/**
 * Rewrites an invalid :authority of HTTP/2 clients. On a unix socket there is no host, and libraries send the path of the
 * socket, which strict servers reject.
 */
export class AuthorityFilter extends Transform {
  #buffered: Buffer = Buffer.alloc(0);
  /** Bytes that are passed on unchanged. */
  #passing = prefaceBytes;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#buffered = this.#buffered.length === 0 ? chunk : Buffer.concat([this.#buffered, chunk]);
    while (this.#buffered.length > 0 && this.#step());
    done();
  }

  override _flush(done: TransformCallback): void {
    if (this.#buffered.length > 0) this.push(this.#buffered);
    done();
  }

  /** False if more bytes are needed. */
  #step(): boolean {
    if (this.#passing > 0) {
      const part = this.#take(Math.min(this.#passing, this.#buffered.length));
      this.#passing -= part.length;
      this.push(part);
      return true;
    }
    if (this.#buffered.length < headBytes) return false;
    const size = this.#buffered.readUIntBE(0, 3);
    if (this.#buffered[3] !== headers || size > maxPayload) {
      this.#passing = headBytes + size;
      return true;
    }
    if (this.#buffered.length < headBytes + size) return false;
    this.push(withoutBadAuthority(this.#take(headBytes + size)));
    return true;
  }

  #take(size: number): Buffer {
    const part = this.#buffered.subarray(0, size);
    this.#buffered = this.#buffered.subarray(size);
    return part;
  }
}

/** A HEADERS frame; unchanged if there is nothing to rewrite, or if CONTINUATION frames follow. */
function withoutBadAuthority(frame: Buffer): Buffer {
  const has = (flag: number) => ((frame[4] ?? 0) & flag) !== 0;
  if (!has(flags.endHeaders)) return frame;
  const padding = has(flags.padded) ? (frame[headBytes] ?? 0) : 0;
  const from = headBytes + (has(flags.padded) ? 1 : 0) + (has(flags.priority) ? 5 : 0);
  const to = frame.length - padding;
  const block = from <= to ? withValidAuthority(frame.subarray(from, to)) : undefined;
  if (!block) return frame;
  const changed = Buffer.concat([frame.subarray(0, from), block, frame.subarray(to)]);
  if (changed.length - headBytes > maxPayload) return frame;
  changed.writeUIntBE(changed.length - headBytes, 0, 3);
  return changed;
}
