/** WebSocket framing (RFC 6455), as a server reads and writes it. */
export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export const closeCodes = {
  normal: 1000,
  goingAway: 1001,
  protocolError: 1002,
  tooBig: 1009,
  internalError: 1011,
} as const;

export type FrameEvent =
  | { readonly kind: "message"; readonly data: Buffer }
  | { readonly kind: "ping"; readonly data: Buffer }
  | { readonly kind: "close"; readonly code: number }
  /** What came is no WebSocket any more; nothing after it counts. */
  | { readonly kind: "broken"; readonly code: number; readonly reason: string };

interface Head {
  readonly fin: boolean;
  readonly opcode: number;
  readonly length: number;
  readonly mask: Buffer;
  readonly size: number;
}

/** Makes messages of bytes, however they are cut up. A message in fragments is given as one. */
export class FrameReader {
  readonly #maxMessage: number;
  #waiting: Buffer[] = [];
  #size = 0;
  /** How much has to be there before another look is worth it. */
  #need = 2;
  #fragments: Buffer[] | undefined;
  #fragmentSize = 0;
  #over = false;

  constructor(maxMessage: number) {
    this.#maxMessage = maxMessage;
  }

  push(chunk: Buffer): FrameEvent[] {
    if (this.#over) return [];
    this.#waiting.push(chunk);
    this.#size += chunk.length;
    if (this.#size < this.#need) return [];
    let bytes = this.#waiting.length === 1 ? chunk : Buffer.concat(this.#waiting);
    const events: FrameEvent[] = [];
    for (;;) {
      const head = readHead(bytes);
      if (typeof head === "string") return [...events, this.#broken(closeCodes.protocolError, head)];
      if (head && head.length + this.#fragmentSize > this.#maxMessage)
        return [...events, this.#broken(closeCodes.tooBig, "the message is too long")];
      this.#need = head ? head.size + head.length : 2;
      if (!head || bytes.length < this.#need) {
        if (!head) this.#need = bytes.length + 1;
        break;
      }
      const data = unmasked(bytes.subarray(head.size, this.#need), head.mask);
      bytes = bytes.subarray(this.#need);
      const event = this.#frame(head, data);
      if (event) events.push(event);
      if (event?.kind === "broken" || event?.kind === "close") {
        this.#over = true;
        return events;
      }
    }
    this.#waiting = bytes.length > 0 ? [bytes] : [];
    this.#size = bytes.length;
    return events;
  }

  #frame({ fin, opcode }: Head, data: Buffer): FrameEvent | undefined {
    switch (opcode) {
      case opcodes.ping:
        return { kind: "ping", data };
      case opcodes.pong:
        return undefined;
      case opcodes.close:
        return { kind: "close", code: data.length >= 2 ? data.readUInt16BE() : closeCodes.normal };
      case opcodes.text:
      case opcodes.binary:
        if (this.#fragments) return this.#broken(closeCodes.protocolError, "a message begins within another");
        if (fin) return { kind: "message", data };
        this.#fragments = [data];
        this.#fragmentSize = data.length;
        return undefined;
      case opcodes.continuation: {
        if (!this.#fragments) return this.#broken(closeCodes.protocolError, "nothing to be continued");
        this.#fragments.push(data);
        this.#fragmentSize += data.length;
        if (!fin) return undefined;
        const whole = Buffer.concat(this.#fragments);
        this.#fragments = undefined;
        this.#fragmentSize = 0;
        return { kind: "message", data: whole };
      }
      default:
        return this.#broken(closeCodes.protocolError, "unknown kind of frame");
    }
  }

  #broken(code: number, reason: string): FrameEvent {
    this.#over = true;
    this.#waiting = [];
    this.#fragments = undefined;
    return { kind: "broken", code, reason };
  }
}

/** Undefined: it has not all come yet. A string: what is wrong with it. */
function readHead(bytes: Buffer): Head | string | undefined {
  if (bytes.length < 2) return undefined;
  const first = bytes[0] ?? 0;
  const second = bytes[1] ?? 0;
  const fin = (first & 0x80) !== 0;
  const opcode = first & 0x0f;
  if ((first & 0x70) !== 0) return "reserved bits are set";
  if ((second & 0x80) === 0) return "the frame is not masked";
  const short = second & 0x7f;
  if (opcode >= 8 && (!fin || short > 125)) return "a control frame is too long or in fragments";
  const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
  const size = 2 + lengthBytes + 4;
  if (bytes.length < size) return undefined;
  const long = lengthBytes === 8 ? bytes.readBigUInt64BE(2) : 0n;
  if (long > BigInt(Number.MAX_SAFE_INTEGER)) return "the length makes no sense";
  const length = lengthBytes === 8 ? Number(long) : lengthBytes === 2 ? bytes.readUInt16BE(2) : short;
  return { fin, opcode, length, mask: bytes.subarray(size - 4, size), size };
}

/** Four bytes at a time, in memory that begins where a word does: one by one, this would cost more than all else here. */
function unmasked(data: Buffer, mask: Buffer): Buffer {
  const plain = Buffer.allocUnsafeSlow(data.length);
  data.copy(plain);
  const words = new Int32Array(plain.buffer, 0, data.length >>> 2);
  const [word = 0] = new Int32Array(Uint8Array.from(mask).buffer);
  for (let i = 0; i < words.length; i++) words[i] = (words[i] ?? 0) ^ word;
  for (let i = words.length * 4; i < data.length; i++) plain[i] = (data[i] ?? 0) ^ (mask[i & 3] ?? 0);
  return plain;
}

/** The head of a frame from the server, which masks nothing. */
export function frameHead(opcode: number, length: number): Buffer {
  const head = Buffer.alloc(length < 126 ? 2 : length < 0x10000 ? 4 : 10);
  head[0] = 0x80 | opcode;
  if (length < 126) head[1] = length;
  else if (length < 0x10000) {
    head[1] = 126;
    head.writeUInt16BE(length, 2);
  } else {
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  return head;
}
