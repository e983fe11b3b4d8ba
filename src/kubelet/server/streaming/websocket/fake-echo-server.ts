import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { WebSocketConnection } from "./connection.ts";
import { handshake } from "./handshake.ts";

/** A server that sends each message back. */
export async function echoServer() {
  const server = createServer();
  const sockets = new Set<Socket>();
  let last: WebSocketConnection | undefined;
  server.on("upgrade", (request, socket: Socket, head) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    const protocol = request.headers["sec-websocket-protocol"]?.split(",")[0];
    socket.write(handshake(request, protocol));
    const connection = new WebSocketConnection(socket, {
      message: (data) => void connection.send(data),
      end: () => connection.close(),
    });
    last = connection;
    connection.start(head);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    port,
    /** The server's side of the connection that was opened last. */
    last: () => last,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export interface ReceivedFrame {
  readonly opcode: number;
  readonly fin: boolean;
  readonly payload: Buffer;
}

/** Sends these bytes, in these chunks, after the handshake; resolves with all frames when the server has closed the connection. */
export async function exchange(port: number, chunks: readonly Buffer[]): Promise<ReceivedFrame[]> {
  const socket = await rawConnection(port);
  const received: Buffer[] = [];
  socket.on("data", (chunk) => received.push(chunk));
  socket.on("error", () => {});
  socket.resume();
  const closed = new Promise((resolve) => socket.once("close", resolve));
  for (const chunk of chunks) {
    if (!socket.writable) break;
    await new Promise((resolve) => socket.write(chunk, resolve));
  }
  await closed;
  return framesOf(Buffer.concat(received));
}

/** A connection whose handshake is done: what follows are frames. */
export function rawConnection(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    socket.setNoDelay(true);
    socket.once("error", reject);
    socket.write(
      "GET / HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    let text = "";
    const read = (chunk: Buffer) => {
      text += chunk.toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      if (end < 0) return;
      socket.off("data", read);
      socket.off("error", reject);
      socket.pause();
      if (!text.startsWith("HTTP/1.1 101 ")) return reject(new Error(text));
      if (text.length > end + 4) socket.unshift(Buffer.from(text.slice(end + 4), "latin1"));
      resolve(socket);
    };
    socket.on("data", read);
  });
}

function framesOf(bytes: Buffer): ReceivedFrame[] {
  const frames: ReceivedFrame[] = [];
  for (let at = 0; at < bytes.length; ) {
    const [first = 0, second = 0] = bytes.subarray(at, at + 2);
    if ((first & 0x70) !== 0 || (second & 0x80) !== 0) throw new Error("reserved bits, or masked");
    const size = second === 127 ? 10 : second === 126 ? 4 : 2;
    const length =
      second === 127
        ? Number(bytes.readBigUInt64BE(at + 2))
        : second === 126
          ? bytes.readUInt16BE(at + 2)
          : second;
    const end = at + size + length;
    if (end > bytes.length) throw new Error("an incomplete frame");
    frames.push({
      opcode: first & 0x0f,
      fin: (first & 0x80) !== 0,
      payload: bytes.subarray(at + size, end),
    });
    at = end;
  }
  return frames;
}
