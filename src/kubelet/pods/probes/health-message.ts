/** The messages of grpc.health.v1.Health/Check: small enough to be encoded and decoded manually. */

const statusNames = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];

/** A HealthCheckRequest { string service = 1 } with gRPC's message prefix of five bytes. */
export function healthRequest(service: string): Buffer {
  const name = Buffer.from(service);
  const message = name.length === 0 ? name : Buffer.concat([Buffer.of(0x0a), varint(name.length), name]);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** The name of the status in a HealthCheckResponse { ServingStatus status = 1 }, with its prefix. Throws if it is invalid. */
export function healthStatus(framed: Buffer): string {
  if (framed.length < 5) throw new Error("the response contains no message");
  if (framed[0] !== 0) throw new Error("the response is compressed");
  const message = framed.subarray(5, 5 + framed.readUInt32BE(1));
  let status = 0;
  for (let at = 0; at < message.length; ) {
    const [tag, afterTag] = readVarint(message, at);
    const [value, next] = readField(message, tag & 7, afterTag);
    if (tag === 0x08) status = value;
    at = next;
  }
  return statusNames[status] ?? String(status);
}

function readField(bytes: Buffer, wireType: number, at: number): [value: number, next: number] {
  switch (wireType) {
    case 0:
      return readVarint(bytes, at);
    case 1:
      return [0, at + 8];
    case 2: {
      const [length, start] = readVarint(bytes, at);
      return [0, start + length];
    }
    case 5:
      return [0, at + 4];
    default:
      throw new Error(`the result has a field of unknown type ${wireType}`);
  }
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (; value > 0x7f; value >>>= 7) bytes.push((value & 0x7f) | 0x80);
  return Buffer.from([...bytes, value]);
}

function readVarint(bytes: Buffer, at: number): [value: number, next: number] {
  let value = 0;
  for (let i = 0; i < 10; i++) {
    const byte = bytes[at + i];
    if (byte === undefined) break;
    value += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return [value, at + i + 1];
  }
  throw new Error("the response is truncated");
}
