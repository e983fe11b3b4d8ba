import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createPlain } from "node:http";
import { createSecureServer } from "node:http2";
import { createServer as createSecure } from "node:https";
import type { AddressInfo, Server, Socket } from "node:net";
import type { TLSSocket } from "node:tls";

export function fixture(name: string): string {
  return readFileSync(new URL(`../fixtures/kube/${name}`, import.meta.url), "utf8");
}

export type Protocol = "h2" | "https" | "http";
export type Handler = (request: IncomingMessage, response: ServerResponse, received: ReceivedRequest) => void;

/** One received request. */
export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string | string[] | undefined>;
  /** The common name of the client's certificate. */
  readonly client: string | undefined;
  readonly body: string;
}

/** A real HTTP server on its own port that responds as a test defines. */
export class TestApiServer {
  readonly requests: ReceivedRequest[] = [];
  /** All connections that were ever opened. */
  readonly sockets: Socket[] = [];
  readonly url: string;
  readonly port: number;
  readonly #server: Server;

  static async start(protocol: Protocol, handler: Handler, settings = {}, port = 0): Promise<TestApiServer> {
    const tls = {
      key: fixture("server.key"),
      cert: fixture("server.pem"),
      ca: fixture("ca.pem"),
      requestCert: true,
      rejectUnauthorized: false,
    };
    const server =
      protocol === "h2"
        ? createSecureServer({ ...tls, allowHTTP1: false, settings, maxSessionMemory: 128 })
        : protocol === "https"
          ? createSecure(tls)
          : createPlain();
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    return new TestApiServer(server as unknown as Server, protocol, handler);
  }

  private constructor(server: Server, protocol: Protocol, handler: Handler) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    this.url = `${protocol === "http" ? "http" : "https"}://127.0.0.1:${this.port}`;
    server.on(protocol === "http" ? "connection" : "secureConnection", (socket: Socket) => {
      this.sockets.push(socket);
      socket.on("error", () => {});
    });
    server.on("sessionError", () => {});
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      const chunks: Buffer[] = [];
      request.on("error", () => {});
      response.on("error", () => {});
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const socket = request.socket as TLSSocket;
        const received: ReceivedRequest = {
          method: request.method ?? "",
          url: request.url ?? "",
          headers: request.headers,
          client: commonName(socket),
          body: Buffer.concat(chunks).toString(),
        };
        this.requests.push(received);
        handler(request, response, received);
      });
    });
  }

  /** Closes all connections, as a crash or a broken network does. */
  disconnect(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.disconnect();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function commonName(socket: TLSSocket): string | undefined {
  const name = typeof socket.getPeerCertificate === "function" && socket.getPeerCertificate()?.subject?.CN;
  return typeof name === "string" ? name : undefined;
}

export function json(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

export function status(code: number, reason: string, message: string, details?: object): object {
  return { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message, details };
}

/** A kubeconfig with one cluster and one user. */
export function kubeconfig(cluster: object, user: object): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "main",
    contexts: [{ name: "main", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user }],
  });
}

export const base64 = (text: string): string => Buffer.from(text).toString("base64");
