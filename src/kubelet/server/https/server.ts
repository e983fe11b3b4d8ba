import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createSecureServer, type Http2SecureServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { whenAborted } from "../../../lib/base/abort.ts";
import type { Clock } from "../../../lib/base/clock.ts";
import { type Component, type Health, healthy } from "../../../lib/base/component.ts";
import { Connections } from "../../../lib/base/connections.ts";
import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import { Http2Sessions, tcpSocketOf } from "../../../lib/base/http2-sessions.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import { bufferPipelinedData } from "../../../lib/base/pipelined-data.ts";
import { UnreadResponses } from "../../../lib/base/unread-responses.ts";
import { type AccessFilter, clientCaOf, setClientCa } from "../auth/node-access.ts";
import { listen } from "../listen.ts";
import type { Route } from "../route.ts";
import { Dispatcher, noteWritten } from "./dispatcher.ts";
import { bucketsOf, requestMetrics } from "./request-metrics.ts";
import { RequestQueue } from "./request-queue.ts";
import { RouteTable } from "./route-table.ts";
import { ServerContext, type ServerTls } from "./server-context.ts";
import type { ServerTracing } from "./traced-exchange.ts";

export interface AgentServerOptions {
  readonly name: string;
  readonly address: string;
  /** 0: any free port. */
  readonly port: number;
  readonly routes: readonly Route[];
  readonly access: AccessFilter;
  /** Absent: plain HTTP, for the read-only port. */
  readonly tls?: ServerTls;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly limits?: Partial<Limits>;
  /** Absent: no spans are created. */
  readonly tracing?: ServerTracing | undefined;
}

export interface Limits {
  /** Maximum connections without a request of an authenticated client in progress. */
  readonly connections: number;
  readonly headerBytes: number;
  /** Timeout of request headers, and of a handshake. */
  readonly headersMs: number;
  /** Timeout of a whole request with its body. */
  readonly requestMs: number;
  /** Keep-alive timeout. */
  readonly idleMs: number;
  /** How long a client may stop reading a pending response. */
  readonly stallMs: number;
  /** Maximum responses that clients without credentials have not read. */
  readonly unreadResponses: number;
}

const defaults: Limits = {
  connections: 1000,
  headerBytes: 1024 * 1024,
  headersMs: 15_000,
  requestMs: 300_000,
  idleMs: 90_000,
  stallMs: 3_600_000,
  unreadResponses: 1000,
};

/** Maximum concurrent requests on an HTTP/2 connection. */
const maxStreams = 250;
const maxResetsPerSecond = 33;
/** Maximum pipelined requests of an HTTP/1.1 connection. */
const maxPipelinedRequests = 250;
/** How long requests in progress may still take when the server stops, before their handlers are aborted. */
const shutdownGraceMs = 500;
/** When the connections of a stopping server are closed. */
const forceCloseAfterMs = 2000;
/** How long the rest of a request is read after an early response, so that the response arrives. */
const lingerMs = 500;
/** How often slow clients are checked. */
const checkIntervalMs = 1000;

/** The agent's HTTP server: one listener, its connections and their limits. What is served is in its routes. */
export class AgentServer implements Component {
  readonly name: string;
  readonly #o: AgentServerOptions;
  readonly #limits: Limits;
  readonly #connections: Connections;
  readonly #dispatcher: Dispatcher;
  readonly #table: RouteTable;
  readonly #stopping = new AbortController();
  readonly #done = Promise.withResolvers<void>();
  readonly #sessions: Http2Sessions;
  readonly #unread: UnreadResponses;
  readonly #requests = new RequestQueue(maxPipelinedRequests);
  /** HTTP/1.1 connections that close after the current response. */
  readonly #retired = new WeakSet<Socket>();
  #ending = false;
  #server: Server | Http2SecureServer | undefined;
  #failure: Health = healthy;

  constructor(options: AgentServerOptions) {
    this.#o = options;
    this.name = options.name;
    this.#limits = { ...defaults, ...options.limits };
    // Clients that were not admitted may take as long as they like to send a body, for example of a login.
    this.#connections = new Connections(this.#limits.connections, { closesBusy: true });
    this.#sessions = new Http2Sessions(this.#connections, this.#limits.idleMs);
    this.#unread = new UnreadResponses(this.#limits.unreadResponses);
    const { routes, access, logger, metrics, clock, tls, tracing } = options;
    this.#table = new RouteTable(routes);
    const known = bucketsOf(this.#table.paths);
    this.#dispatcher = new Dispatcher({
      table: this.#table,
      access,
      logger,
      tracing,
      metrics: requestMetrics({ metrics, clock, serverType: tls ? "readwrite" : "readonly", known }),
    });
  }

  get done(): Promise<void> {
    return this.#done.promise;
  }

  health(): Health {
    return this.#failure;
  }

  /** The port that it listens on. */
  get port(): number | undefined {
    const address = this.#server?.address() as AddressInfo | null | undefined;
    return address?.port;
  }

  get connections(): number {
    return this.#connections.size;
  }

  async start(signal: AbortSignal): Promise<void> {
    const { address, port, logger, name, clock } = this.#o;
    const server = this.#o.tls ? this.#secure(this.#o.tls, signal) : this.#plain();
    this.#server = server;
    await listen(server, { address, port, backlog: 4096, clock, logger, signal, name }).catch((error) => {
      this.#done.resolve();
      const message = `${name} on ${address}:${port}: ${messageOf(error)}`;
      throw new KubeletError("Server", message, { cause: error });
    });
    server.on("error", (error: Error) => {
      this.#failure = { ok: false, reason: error.message };
      logger.error("Server failed", { server: name, err: error.message });
    });
    const stop = () => void this.#stop(server);
    whenAborted(signal, stop);
  }

  #plain(): Server {
    const server = createServer(this.#httpOptions());
    server.on("connection", (socket: Socket) => this.#connected(socket));
    this.#listen(server);
    return server;
  }

  #secure(tls: ServerTls, signal: AbortSignal): Http2SecureServer {
    const context = new ServerContext(tls);
    const server = createSecureServer({
      ...context.first(),
      ...this.#httpOptions(),
      requestCert: context.requestsCertificates,
      // Clients without a certificate may have a token: checked with each request.
      rejectUnauthorized: false,
      allowHTTP1: true,
      handshakeTimeout: this.#limits.headersMs,
      maxSessionMemory: 10,
      // More concurrent resets than this are an attack (rapid reset).
      streamResetBurst: maxStreams,
      streamResetRate: maxResetsPerSecond,
      settings: { maxConcurrentStreams: maxStreams, maxHeaderListSize: this.#limits.headerBytes },
    });
    context.follow((options) => server.setSecureContext(options), signal, this.#o.logger);
    const end = tls.clientCa?.onChange(() => this.#retire());
    if (end) whenAborted(signal, end);
    const handshakes = new WeakMap<Socket, string | undefined>();
    // Connections in their handshake count, too.
    server.on("connection", (socket: Socket) => {
      handshakes.set(socket, context.clientCa);
      this.#connected(socket);
    });
    this.#sessions.follow(server);
    server.prependListener("secureConnection", (socket) => {
      setClientCa(socket, handshakes.get(tcpSocketOf(socket)));
      // The bundle changed during the handshake.
      if (clientCaOf(socket) !== context.clientCa && !this.#trusts(socket)) socket.destroy();
    });
    server.on("secureConnection", bufferPipelinedData);
    server.on("tlsClientError", () => {});
    this.#listen(server);
    return server;
  }

  #httpOptions() {
    const { headerBytes, headersMs, requestMs, idleMs } = this.#limits;
    return {
      maxHeaderSize: headerBytes,
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: Math.min(checkIntervalMs, headersMs),
      requireHostHeader: true,
    };
  }

  #listen(server: Server | Http2SecureServer): void {
    const events = server as Server;
    const { headersMs, requestMs, idleMs } = this.#limits;
    Object.assign(events, { headersTimeout: headersMs, requestTimeout: requestMs, keepAliveTimeout: idleMs });
    events.on("request", (request, response) => this.#enqueueRequest(request, response));
    events.on("upgrade", (request, socket, head) => this.#upgrade(request, socket as Socket, head));
    // An HTTP/2 server passes a response instead of a socket, which the types of "connect" lack.
    events.on("connect", (_, other) => rejectConnect(other as unknown as Duplex | ServerResponse));
    events.on("checkContinue", (request, response) => {
      response.writeContinue();
      this.#enqueueRequest(request, response);
    });
    events.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) =>
      this.#onClientError(error, socket),
    );
    events.on("checkExpectation", (_, response) => response.writeHead(417).end());
  }

  #trusts(socket: Socket): boolean {
    return !(socket instanceof TLSSocket) || (this.#o.access.trusts?.(socket) ?? true);
  }

  /** After a change to the client CA: requests in progress are finished, and then the client needs a new handshake. */
  #retire(): void {
    const untrusted = new Set(this.#connections.all().filter((socket) => !this.#trusts(socket)));
    for (const socket of untrusted) this.#retired.add(socket);
    this.#sessions.close((socket) => untrusted.has(socket));
  }

  #connected(socket: Socket): void {
    if (!this.#connections.add(socket)) return;
    socket.setNoDelay(true);
    socket.on("error", () => {});
  }

  #enqueueRequest(request: IncomingMessage, response: ServerResponse): void {
    const serve = () => this.#serve(request, response);
    // HTTP/2 handles requests concurrently.
    if (request.httpVersionMajor >= 2) serve();
    else this.#requests.add(request.socket, response, serve);
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const { stream } = request as { stream?: ServerHttp2Stream };
    const { socket, inSession, end } = this.#sessions.begin(request);
    response.on("error", () => {});
    request.on("error", () => {});
    let isClosed = false;
    let isAdmitted = false;
    response.once("close", () => {
      isClosed = true;
      end();
      // Otherwise keep-alive would keep the connection and the server open.
      if (!inSession && (this.#ending || this.#retired.has(socket))) socket.destroySoon();
    });
    this.#closeStalledResponse(response, stream);
    if (!stream) response.once("finish", () => this.#drainRequestBody(request));
    const admitted = () => {
      isAdmitted = true;
      response.once("close", this.#connections.exempt(socket));
    };
    void this.#dispatcher.serve(request, response, { stop: this.#stopping.signal, admitted }).then(() => {
      if (isAdmitted || isClosed) return;
      // A client that anyone can be keeps no connection from others by not reading its response.
      end();
      this.#unread.add(response);
    });
  }

  /** An idle log may be followed for any length of time; unread response data holds a connection slot. */
  #closeStalledResponse(response: ServerResponse, stream: ServerHttp2Stream | undefined): void {
    const { stallMs } = this.#limits;
    const close = () => {
      if (response.writableLength > 0) response.destroy();
    };
    if (stream) stream.on("timeout", close).setTimeout(stallMs);
    else response.setTimeout(stallMs, close);
  }

  /** A client that still sends unread data is disconnected, but not before the response had time to arrive. */
  #drainRequestBody(request: IncomingMessage): void {
    if (request.complete) return;
    const { socket } = request;
    request.resume();
    const cancel = this.#o.clock.after(lingerMs, () => {
      if (!request.complete) socket.destroy();
    });
    socket.once("close", cancel);
    request.once("end", cancel);
  }

  /** A malformed request, or a timeout. */
  #onClientError({ code }: NodeJS.ErrnoException, socket: Socket): void {
    if (socket.destroyed || !socket.writable || socket.bytesWritten > 0) return void socket.destroy();
    const status =
      code === "HPE_HEADER_OVERFLOW"
        ? "431 Request Header Fields Too Large"
        : code === "ERR_HTTP_REQUEST_TIMEOUT"
          ? "408 Request Timeout"
          : "400 Bad Request";
    socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
    socket.removeAllListeners("data");
    socket.resume();
    socket.once(
      "close",
      this.#o.clock.after(lingerMs, () => socket.destroy()),
    );
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const idle = this.#connections.busy(socket);
    socket.setTimeout(0);
    socket.on("error", () => {});
    socket.once("close", idle);
    noteWritten(socket);
    const admitted = () => void socket.once("close", this.#connections.exempt(socket));
    void this.#dispatcher.upgrade(request, { socket, head }, { stop: this.#stopping.signal, admitted });
  }

  async #stop(server: Server | Http2SecureServer): Promise<void> {
    const { clock } = this.#o;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    this.#ending = true;
    this.#sessions.close();
    const cancels = [
      clock.after(shutdownGraceMs, () => this.#stopping.abort()),
      clock.after(forceCloseAfterMs, () => {
        this.#stopping.abort();
        for (const socket of this.#connections.all()) socket.destroy();
      }),
    ];
    await closed;
    this.#stopping.abort();
    for (const cancel of cancels) cancel();
    for (const socket of this.#connections.all()) socket.destroy();
    this.#done.resolve();
  }
}

/** CONNECT is not supported. HTTP/1.1 passes the connection, HTTP/2 a response object. */
function rejectConnect(other: Duplex | ServerResponse): void {
  if ("writeHead" in other) other.writeHead(405).end();
  else other.end("HTTP/1.1 405 Method Not Allowed\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
}
