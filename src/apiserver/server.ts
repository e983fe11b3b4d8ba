import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createSecureServer, type Http2SecureServer } from "node:http2";
import { type AddressInfo, BlockList, type Server as NetServer, type Socket } from "node:net";
import { whenAborted } from "../lib/base/abort.ts";
import { type Clock, systemClock } from "../lib/base/clock.ts";
import { type Component, type Health, healthy } from "../lib/base/component.ts";
import { Connections } from "../lib/base/connections.ts";
import { Http2Sessions } from "../lib/base/http2-sessions.ts";
import { type Logger, silentLogger } from "../lib/base/logger.ts";
import { bufferPipelinedData } from "../lib/base/pipelined-data.ts";
import { UnreadResponses } from "../lib/base/unread-responses.ts";
import type { Admission, Authenticator, Authorizer, CallerLimits } from "./access.ts";
import type { Caller, Objects, ResourceDefinition } from "./definition.ts";
import { Discovery, type OpenApi } from "./discovery/discovery.ts";
import { openEndpoint, type PodEndpoint } from "./pod-endpoint.ts";
import { Catalog } from "./rest/catalog.ts";
import type { Propagation } from "./rest/delete-options.ts";
import type { FieldChecks } from "./rest/field-checks.ts";
import { serveHealth } from "./rest/health.ts";
import { RestHandler, type ServedRequest } from "./rest/rest-handler.ts";
import { SystemObjects } from "./rest/system-objects.ts";
import type { TableMaker } from "./rest/views.ts";
import type { WriteDependencies } from "./rest/write-context.ts";
import type { Store } from "./storage/store.ts";

export interface TlsFiles {
  /** PEM. */
  readonly key: string;
  readonly cert: string;
  /** The CA whose client certificates are requested; the authenticator verifies them. */
  readonly clientCa: string;
}

export interface ApiServerOptions {
  readonly store: Store;
  readonly definitions: readonly ResourceDefinition[];
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly admission?: Admission;
  /** Absent: plain HTTP, for tests. */
  readonly tls?: TlsFiles;
  readonly host?: string;
  /** 0 or absent: any free port. */
  readonly port?: number;
  /** Further listeners. */
  readonly podEndpoints?: readonly PodEndpoint[];
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly fields?: FieldChecks;
  readonly tables?: TableMaker;
  readonly openapi?: OpenApi;
  /** Other paths that return JSON: "/openid/v1/jwks". */
  readonly documents?: Readonly<Record<string, () => object>>;
  /** Propagation policies that a controller handles; others are treated as Background. */
  readonly propagation?: readonly Propagation[];
  /** Additional checks of /healthz, /livez and /readyz, by name. */
  readonly checks?: Readonly<Record<string, () => Health>>;
  readonly onRequest?: (seen: ServedRequest) => void;
  readonly maxBodyBytes?: number;
  /** The limits of a caller; undefined: none. */
  readonly limitsOf?: (caller: Caller) => CallerLimits | undefined;
  readonly limits?: Partial<ConnectionLimits>;
}

export interface ConnectionLimits {
  /** The connection limit; when it is reached, the longest-idle connection is closed. */
  readonly connections: number;
  /** How long a connection is kept for a next request. */
  readonly idleMs: number;
  /** The maximum number of unread responses of clients that sent no credentials or were rejected. */
  readonly unreadResponses: number;
}

const megabyte = 1024 * 1024;
/** HTTP/1.1 header limit: the command of an exec is in the URL, and may be as long as a program's arguments. */
const maxHeaderSize = megabyte;
/** How long requests in progress may take when the server stops. */
const stopTimeoutMs = 5000;
/** How long clients have to close connections without a request: one that is suspended never does. */
const closeTimeoutMs = 500;
const headersTimeoutMs = 32_000;
/** One connection in four is for clients on this machine, and for callers without limits. */
const reservedShare = 4;
const defaultLimits: ConnectionLimits = { connections: 4096, idleMs: 180_000, unreadResponses: 1000 };

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8);
loopback.addAddress("::1", "ipv6");

/** The API over HTTP. The store is closed by its creator. */
export class ApiServer implements Component {
  readonly name = "api-server";
  readonly objects: Objects;
  readonly #o: ApiServerOptions;
  readonly #clock: Clock;
  readonly #handler: RestHandler;
  readonly #server: Server | Http2SecureServer;
  readonly #podEndpoints: NetServer[] = [];
  /** Connections of the further listeners. */
  readonly #fromPods = new WeakSet<Socket>();
  readonly #limits: ConnectionLimits;
  readonly #connections: Connections;
  readonly #sessions: Http2Sessions;
  readonly #unread: UnreadResponses;
  readonly #ending = new AbortController();
  readonly #done = Promise.withResolvers<void>();
  #stopped: Promise<void> | undefined;
  #health: Health = healthy;

  constructor(options: ApiServerOptions) {
    this.#o = options;
    const { store, definitions, clock = systemClock, logger = silentLogger } = options;
    this.#clock = clock;
    this.#limits = { ...defaultLimits, ...options.limits };
    const reserved = Math.ceil(this.#limits.connections / reservedShare);
    this.#connections = new Connections(this.#limits.connections, { reserved });
    this.#sessions = new Http2Sessions(this.#connections, this.#limits.idleMs);
    this.#unread = new UnreadResponses(this.#limits.unreadResponses);
    const catalog = new Catalog(definitions);
    const dependencies: WriteDependencies = {
      store,
      catalog,
      clock,
      admission: options.admission,
      propagation: options.propagation ?? [],
      objects: (dryRun) => (dryRun ? dryObjects : objects),
    };
    const { signal } = this.#ending;
    const objects = new SystemObjects(dependencies, { dryRun: false, signal });
    const dryObjects = new SystemObjects(dependencies, { dryRun: true, signal });
    this.objects = objects;
    const discovery = new Discovery({
      catalog,
      openapi: options.openapi,
      documents: options.documents ?? {},
      address: () => `${this.#o.host ?? "127.0.0.1"}:${this.port}`,
    });
    const checks = { ping: () => healthy, storage: () => store.health(), ...options.checks };
    this.#handler = new RestHandler({
      dependencies,
      clock,
      logger,
      fields: options.fields,
      tables: options.tables,
      authenticator: options.authenticator,
      authorizer: options.authorizer,
      maxBodyBytes: options.maxBodyBytes ?? 3 * megabyte,
      limitsOf: options.limitsOf ?? (() => undefined),
      limitedRequests: this.#limits.connections - reserved,
      onRequest: options.onRequest,
      other: async (path, writer, query) =>
        (await serveHealth(path, writer, query, checks)) || discovery.serve(path, writer, query),
    });
    this.#server = options.tls ? this.#secure(options.tls) : this.#plain();
  }

  get done(): Promise<void> {
    return this.#done.promise;
  }

  health(): Health {
    return this.#health.ok ? this.#o.store.health() : this.#health;
  }

  /** Known when the server has started. */
  get port(): number {
    const address = this.#server.address() as AddressInfo | null;
    return address?.port ?? this.#o.port ?? 0;
  }

  /** Listens; stops with the signal. */
  async start(signal?: AbortSignal): Promise<void> {
    const { host = "127.0.0.1", port = 0 } = this.#o;
    const server = this.#server;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(port, host, () => {
        server.off("error", reject);
        resolve();
      });
    });
    const onError = (error: Error) => {
      this.#health = { ok: false, reason: error.message };
      this.#o.logger?.error("API server failed", { err: error.message });
    };
    server.on("error", onError);
    for (const endpoint of this.#o.podEndpoints ?? []) {
      const opened = await openEndpoint(endpoint, (socket) => {
        this.#fromPods.add(socket);
        server.emit("connection", socket);
      });
      this.#podEndpoints.push(opened.on("error", onError));
    }
    if (signal) whenAborted(signal, () => void this.stop());
  }

  /** Ends watches, waits for requests in progress, and closes. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** New connections get the new certificate; open ones are kept. */
  setTls({ key, cert, clientCa }: TlsFiles): void {
    if ("setSecureContext" in this.#server) this.#server.setSecureContext({ key, cert, ca: clientCa });
  }

  #plain(): Server {
    const server = createServer({ maxHeaderSize }, (request, response) => this.#serve(request, response));
    server.on("upgrade", (request, socket, head) => this.#upgrade(request, socket as Socket, head));
    server.on("connection", (socket) => this.#connected(socket));
    // A watch may last for any length of time; only receiving a request has a timeout.
    server.requestTimeout = 0;
    server.headersTimeout = headersTimeoutMs;
    server.keepAliveTimeout = this.#limits.idleMs;
    return server;
  }

  #secure({ key, cert, clientCa }: TlsFiles): Http2SecureServer {
    const server = createSecureServer({
      key,
      cert,
      ca: clientCa,
      requestCert: true,
      // A client without a certificate may have a token.
      rejectUnauthorized: false,
      allowHTTP1: true,
      minVersion: "TLSv1.2",
      handshakeTimeout: headersTimeoutMs,
      maxSessionMemory: 256,
      settings: { maxConcurrentStreams: 1000, initialWindowSize: megabyte },
    });
    // The compatibility classes of HTTP/2 have the methods of HTTP/1.1, but not its types.
    server.on("request", (request, response) =>
      this.#serve(request as unknown as IncomingMessage, response as unknown as ServerResponse),
    );
    server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) =>
      this.#upgrade(request, socket, head),
    );
    // A connection that never finishes its handshake counts toward the limit, too.
    server.on("connection", (socket: Socket) => this.#connected(socket));
    this.#sessions.follow(server);
    server.on("secureConnection", bufferPipelinedData);
    // Node.js also reads the HTTP/1.1 settings from here.
    Object.assign(server, {
      keepAliveTimeout: this.#limits.idleMs,
      headersTimeout: headersTimeoutMs,
      requestTimeout: 0,
      maxHeaderSize,
    });
    return server;
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const { socket, inSession, end } = this.#sessions.begin(request);
    let isClosed = false;
    response.on("close", () => {
      isClosed = true;
      end();
      // Otherwise the connection would wait for another request, and the server would wait for the connection.
      if (!inSession && this.#stopped && request.httpVersionMajor < 2) socket.destroySoon();
    });
    void this.#handler.serve(request, response).then((isCounted) => {
      if (isCounted || isClosed) return;
      // The connection may be closed for another client, whether or not the response is read.
      end();
      this.#unread.add(response);
    });
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    this.#connections.busy(socket);
    void this.#handler.upgrade(request, socket, head);
  }

  #connected(socket: Socket): void {
    const isLocal = !this.#fromPods.has(socket) && loopback.check(socket.remoteAddress ?? "");
    if (!this.#connections.add(socket, isLocal)) return;
    socket.setNoDelay(true);
    socket.on("error", () => {});
  }

  async #stop(): Promise<void> {
    const closed = Promise.all(
      [this.#server, ...this.#podEndpoints].map(
        (s) => new Promise<void>((resolve) => s.close(() => resolve())),
      ),
    );
    this.#ending.abort();
    this.#handler.stop();
    this.#sessions.close();
    const destroyAll = () => {
      for (const socket of this.#connections.all()) socket.destroy();
    };
    let cancelSweep = () => {};
    const sweepSoon = () => {
      cancelSweep = this.#clock.after(closeTimeoutMs, () => {
        for (const socket of [...this.#connections.idle]) socket.destroySoon();
        sweepSoon();
      });
    };
    sweepSoon();
    const cancel = this.#clock.after(stopTimeoutMs, destroyAll);
    await closed;
    cancel();
    cancelSweep();
    destroyAll();
    this.#done.resolve();
  }
}
