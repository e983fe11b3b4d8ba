import { readFileSync } from "node:fs";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import {
  constants,
  createSecureServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Stream,
} from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";

/** A server for tests, on a free port of the loopback. */
export interface LoopbackServer {
  port: number;
  /** Connections that are open on its side. */
  readonly open: Set<Socket>;
  close(): Promise<void>;
}

export function serveHttp(handler: RequestListener, host = "127.0.0.1"): Promise<LoopbackServer> {
  return listening(createHttpServer(handler), host);
}

export function serveHttps(pem: Buffer, handler: RequestListener): Promise<LoopbackServer> {
  return listening(createHttpsServer({ key: pem, cert: pem }, handler), "127.0.0.1");
}

export function serveHttp2(
  pem: Buffer,
  handler: (request: Http2ServerRequest, response: Http2ServerResponse) => void,
): Promise<LoopbackServer> {
  return listening(createHttp2Server({ key: pem, cert: pem }, handler), "127.0.0.1");
}

/** Pushes a stream, and ends the connection with an error before the client has seen it. */
export function pushAndFail(stream: ServerHttp2Stream): void {
  stream.on("error", () => {});
  stream.pushStream({ ":path": "/pushed" }, (_, pushed) => pushed.on("error", () => {}).respond());
  stream.session?.goaway(constants.NGHTTP2_INTERNAL_ERROR);
}

export function serveTcp(
  onConnection: (socket: Socket) => void,
  host = "127.0.0.1",
): Promise<LoopbackServer> {
  return listening(createTcpServer(onConnection), host);
}

/** A port that no process listens on. */
export async function closedPort(): Promise<number> {
  const server = await serveTcp(() => {});
  await server.close();
  return server.port;
}

function listening(server: Server, host: string): Promise<LoopbackServer> {
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => open.delete(socket));
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, host, () =>
      resolve({
        port: (server.address() as AddressInfo).port,
        open,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed());
            for (const socket of open) socket.destroy();
          }),
      }),
    );
  });
}

/** IPv4 connections to that port that are in TIME_WAIT on our side. */
export function timeWaitsTo(port: number): number {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  const rows = readFileSync("/proc/net/tcp", "utf8").split("\n");
  return rows.filter((row) => {
    const [, , remote, state] = row.trim().split(/\s+/);
    return remote?.endsWith(`:${hex}`) && state === "06";
  }).length;
}
