/** The header of a WebSocket frame (RFC 6455, 5.2), as a server reads and writes it. */
export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

const known: ReadonlySet<number> = new Set(Object.values(opcodes));

export interface FrameHeader {
  readonly fin: boolean;
  readonly opcode: number;
  readonly length: number;
  readonly mask: Buffer;
  /** The size of the header itself. */
  readonly size: number;
}

export const isControl = (opcode: number): boolean => opcode >= 8;

/** Undefined: incomplete. A string: why it is invalid. */
export function readHeader(bytes: Buffer): FrameHeader | string | undefined {
  if (bytes.length < 2) return undefined;
  const first = bytes[0] ?? 0;
  const second = bytes[1] ?? 0;
  const fin = (first & 0x80) !== 0;
  const opcode = first & 0x0f;
  if ((first & 0x70) !== 0) return "reserved bits are set";
  if (!known.has(opcode)) return "reserved opcode";
  if ((second & 0x80) === 0) return "the frame is not masked";
  const short = second & 0x7f;
  if (isControl(opcode) && (!fin || short > 125)) return "a control frame is too long or in fragments";
  const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
  const size = 2 + lengthBytes + 4;
  if (bytes.length < size) return undefined;
  const long = lengthBytes === 8 ? bytes.readBigUInt64BE(2) : 0n;
  if (long > BigInt(Number.MAX_SAFE_INTEGER)) return "the length is out of range";
  const length = lengthBytes === 8 ? Number(long) : lengthBytes === 2 ? bytes.readUInt16BE(2) : short;
  return { fin, opcode, length, mask: bytes.subarray(size - 4, size), size };
}

/** Four bytes at a time, in aligned memory: byte by byte would dominate the cost. */
export function unmasked(data: Buffer, mask: Buffer): Buffer {
  const plain = Buffer.allocUnsafeSlow(data.length);
  data.copy(plain);
  const words = new Int32Array(plain.buffer, 0, data.length >>> 2);
  const [word = 0] = new Int32Array(Uint8Array.from(mask).buffer);
  for (let i = 0; i < words.length; i++) words[i] = (words[i] ?? 0) ^ word;
  for (let i = words.length * 4; i < data.length; i++) plain[i] = (data[i] ?? 0) ^ (mask[i & 3] ?? 0);
  return plain;
}

/** The header of a frame from the server, which masks nothing. */
export function frameHeader(opcode: number, length: number): Buffer {
  const header = Buffer.alloc(length < 126 ? 2 : length < 0x10000 ? 4 : 10);
  header[0] = 0x80 | opcode;
  if (length < 126) header[1] = length;
  else if (length < 0x10000) {
    header[1] = 126;
    header.writeUInt16BE(length, 2);
  } else {
    header[1] = 127;
    header.writeBigUInt64BE(BigInt(length), 2);
  }
  return header;
}
