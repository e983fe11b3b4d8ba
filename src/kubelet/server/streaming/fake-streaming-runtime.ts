import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { controlFrame, dataHead, flagFin, frameTypes, SpdyReader } from "./spdy/frames.ts";

/** The server side of one remote command. */
export interface FakeCommand {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  /** By streamType, once the client has opened it. */
  readonly streams: ReadonlyMap<string, number>;
  write(stream: string, data: string | Buffer): boolean;
  fin(stream: string): void;
}

export interface FakeProgram {
  /** All requested streams are open. `expected` of them start it. */
  readonly expected: number;
  start?(command: FakeCommand): void;
  data?(command: FakeCommand, stream: string, data: Buffer): void;
  end?(command: FakeCommand, stream: string): void;
}

/** A runtime's streaming server: SPDY/3.1, with a program for each path; "reject" responds with 403, and unknown paths echo raw bytes. */
export async function fakeStreamingRuntime(programs: Readonly<Record<string, FakeProgram>>) {
  const server = createServer((_, response) => response.writeHead(403).end("rejected\n"));
  const sockets = new Set<Socket>();
  const requests: IncomingMessage[] = [];
  server.on("upgrade", (request: IncomingMessage, duplex) => {
    const socket = duplex as Socket;
    requests.push(request);
    sockets.add(socket);
    socket.on("error", () => {});
    const name = (request.url ?? "").slice(1);
    if (name === "reject") return void socket.end("HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\nno\n");
    const version = String(request.headers["x-stream-protocol-version"] ?? "").split(/\s*,\s*/)[0];
    const upgrade = `connection: upgrade\r\nupgrade: ${request.headers.upgrade}`;
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\n${upgrade}\r\nx-stream-protocol-version: ${version}\r\n\r\n`,
    );
    const program = programs[name];
    if (program) serve(request, socket, program);
    else socket.pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    requests,
    url: (name: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/${name}`,
    stop: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

function serve(request: IncomingMessage, socket: Socket, program: FakeProgram): void {
  const reader = new SpdyReader();
  const streams = new Map<string, number>();
  const nameOf = (id: number) => [...streams].find(([, known]) => known === id)?.[0] ?? "";
  const command: FakeCommand = {
    request,
    socket,
    streams,
    write(stream, data) {
      const bytes = Buffer.from(data);
      socket.write(dataHead(streams.get(stream) ?? 0, 0, bytes.length));
      return socket.write(bytes);
    },
    fin: (stream) => void socket.write(dataHead(streams.get(stream) ?? 0, flagFin, 0)),
  };
  socket.on("data", (chunk: Buffer) => {
    for (const event of reader.push(chunk)) {
      if (event.kind === "data") {
        if (event.data.length > 0) program.data?.(command, nameOf(event.stream), event.data);
        if (event.fin) program.end?.(command, nameOf(event.stream));
      } else if (event.kind === "control" && event.type === frameTypes.synStream) {
        const id = event.payload.readUInt32BE();
        streams.set(streamTypeOf(event.payload.subarray(10)), id);
        const reply = Buffer.concat([event.payload.subarray(0, 4), Buffer.from([0x78, 0x20])]);
        socket.write(controlFrame(frameTypes.synReply, 0, reply));
        if (streams.size === program.expected) program.start?.(command);
      }
    }
  });
}

/** Our side sends uncompressed headers, so the value can be read directly. */
function streamTypeOf(block: Buffer): string {
  const name = Buffer.from("streamtype");
  const at = block.indexOf(name) + name.length;
  return block.subarray(at + 4, at + 4 + block.readUInt32BE(at)).toString();
}
