/** SPDY/3.1 framing: as much of it as streams of a remote command need. */
export const frameTypes = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

export const flagFin = 1;
const version = 3;
const headSize = 8;
/** Control frames of a runtime are small; a larger one is invalid. */
const maxControl = 16 * 1024;

export type SpdyEvent =
  /** A part of a stream's data; a frame may be split. */
  | { readonly kind: "data"; readonly stream: number; readonly data: Buffer; readonly fin: boolean }
  | { readonly kind: "control"; readonly type: number; readonly flags: number; readonly payload: Buffer }
  | { readonly kind: "broken"; readonly reason: string };

/** Parses frames from chunks. Data is passed on immediately, without waiting for the whole frame. */
export class SpdyReader {
  #waiting: Buffer = Buffer.alloc(0);
  #data: { readonly stream: number; readonly fin: boolean; left: number } | undefined;
  #over = false;

  push(chunk: Buffer): SpdyEvent[] {
    const events: SpdyEvent[] = [];
    let bytes = this.#waiting.length === 0 ? chunk : Buffer.concat([this.#waiting, chunk]);
    while (!this.#over) {
      if (this.#data) {
        const { stream, fin, left } = this.#data;
        const data = bytes.subarray(0, left);
        bytes = bytes.subarray(data.length);
        const last = data.length === left;
        if (data.length > 0 || last) events.push({ kind: "data", stream, data, fin: fin && last });
        this.#data = last ? undefined : { stream, fin, left: left - data.length };
        if (!last) break;
      } else {
        if (bytes.length < headSize) break;
        const word = bytes.readUInt32BE(0);
        const flags = bytes[4] ?? 0;
        const length = bytes.readUIntBE(5, 3);
        if ((word & 0x80000000) === 0) {
          this.#data = { stream: word, fin: (flags & flagFin) !== 0, left: length };
          bytes = bytes.subarray(headSize);
          continue;
        }
        if (((word >>> 16) & 0x7fff) !== version || length > maxControl) {
          this.#over = true;
          events.push({ kind: "broken", reason: "the response of the runtime is not SPDY/3.1" });
          break;
        }
        if (bytes.length < headSize + length) break;
        const payload = bytes.subarray(headSize, headSize + length);
        events.push({ kind: "control", type: word & 0xffff, flags, payload });
        bytes = bytes.subarray(headSize + length);
      }
    }
    this.#waiting = this.#over ? Buffer.alloc(0) : bytes;
    return events;
  }
}

export function controlFrame(type: number, flags: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(headSize);
  head.writeUInt16BE(0x8000 | version, 0);
  head.writeUInt16BE(type, 2);
  head[4] = flags;
  head.writeUIntBE(payload.length, 5, 3);
  return Buffer.concat([head, payload]);
}

export function dataHead(stream: number, flags: number, length: number): Buffer {
  const head = Buffer.alloc(headSize);
  head.writeUInt32BE(stream, 0);
  head[4] = flags;
  head.writeUIntBE(length, 5, 3);
  return head;
}
