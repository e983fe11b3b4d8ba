import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import type { Socket } from "node:net";

export interface FakeClient {
  readonly message: IncomingMessage;
  readonly socket: Socket;
  /** By channel: all received data. */
  readonly received: Map<number, Buffer[]>;
  readonly closed: Promise<number | undefined>;
  send(channel: number, data: string | Buffer): boolean;
  /** A raw frame. */
  raw(bytes: Buffer): boolean;
  text(channel: number): string;
}

/** Opens a WebSocket; rejects with the status if it fails. */
export function openWebSocket(port: number, path: string, protocol: string): Promise<FakeClient> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: "127.0.0.1",
      port,
      path,
      agent: false,
      rejectUnauthorized: false,
      headers: {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": randomBytes(16).toString("base64"),
        "sec-websocket-protocol": protocol,
      },
    });
    outgoing.on("response", (message) => {
      let body = "";
      message.setEncoding("utf8").on("data", (chunk) => {
        body += chunk;
      });
      message.on("end", () => reject(new Error(`${message.statusCode} ${body}`)));
    });
    outgoing.on("error", reject);
    outgoing.on("upgrade", (message, socket, head) => resolve(client(message, socket, head)));
    outgoing.end();
  });
}

function client(message: IncomingMessage, socket: Socket, head: Buffer): FakeClient {
  const received = new Map<number, Buffer[]>();
  const closed = Promise.withResolvers<number | undefined>();
  let code: number | undefined;
  let bytes = head;
  const take = () => {
    for (;;) {
      if (bytes.length < 2) return;
      const short = (bytes[1] ?? 0) & 0x7f;
      const size = short === 127 ? 10 : short === 126 ? 4 : 2;
      if (bytes.length < size) return;
      const length =
        short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short;
      if (bytes.length < size + length) return;
      const payload = bytes.subarray(size, size + length);
      const opcode = (bytes[0] ?? 0) & 0x0f;
      bytes = bytes.subarray(size + length);
      if (opcode === 8) code = payload.readUInt16BE();
      else if (opcode === 10) push(received, -1, payload);
      else push(received, payload[0] ?? -2, payload.subarray(1));
    }
  };
  socket.on("data", (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    take();
  });
  socket.on("error", () => {});
  socket.on("close", () => closed.resolve(code));
  take();
  return {
    message,
    socket,
    received,
    closed: closed.promise,
    send: (channel, data) =>
      socket.write(clientFrame(0x82, Buffer.concat([Buffer.from([channel]), Buffer.from(data)]))),
    raw: (frame) => socket.write(frame),
    text: (channel) => Buffer.concat(received.get(channel) ?? []).toString(),
  };
}

function push(received: Map<number, Buffer[]>, channel: number, data: Buffer): void {
  const known = received.get(channel);
  if (known) known.push(data);
  else received.set(channel, [data]);
}

/** A masked frame with this first byte. */
export function clientFrame(first: number, data: Buffer): Buffer {
  const mask = randomBytes(4);
  const { length } = data;
  const head = Buffer.alloc(length < 126 ? 2 : length < 0x10000 ? 4 : 10);
  head[0] = first;
  head[1] = 0x80 | (length < 126 ? length : length < 0x10000 ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2);
  const masked = Buffer.from(data);
  for (let i = 0; i < masked.length; i++) masked[i] = (masked[i] ?? 0) ^ (mask[i & 3] ?? 0);
  return Buffer.concat([head, mask, masked]);
}
