/** Invalid HTTP/2 frames, which the client of Node.js cannot send. */
export const frameType = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const endStream = 0x1;
export const endHeaders = 0x4;

export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A header block with uncompressed, unindexed fields. */
export function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  return Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]),
  );
}

/** A request without a body. */
export function requestFrame(
  stream: number,
  path: string,
  more: Readonly<Record<string, string>> = {},
): Buffer {
  const headers = { ":method": "GET", ":scheme": "https", ":authority": "x", ":path": path, ...more };
  return frame(frameType.headers, endStream | endHeaders, stream, headerBlock(headers));
}

export function resetFrame(stream: number, code = 8): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(code);
  return frame(frameType.rstStream, 0, stream, payload);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([length(bytes.length), bytes]);
}

/** A number with a prefix of 7 bits. */
function length(value: number): Buffer {
  if (value < 127) return Buffer.from([value]);
  const bytes = [127];
  let rest = value - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}
