import { orAbort, whenAborted } from "../../base/abort.ts";
import type { Clock } from "../../base/clock.ts";
import { KubeletError } from "../../base/errors.ts";
import { markReported } from "../../base/failure-log.ts";
import { Listeners } from "../../base/listeners.ts";
import type { Logger } from "../../base/logger.ts";
import { within } from "../../base/wait.ts";
import { type Dialed, dial } from "./dial.ts";
import { Http1Connection } from "./http1-connection.ts";
import { Http2Connection } from "./http2-connection.ts";
import type { ClusterAccess } from "./kubeconfig.ts";
import { OutageLog } from "./outage-log.ts";
import { certificateAuthority, type KeyPair, PemFiles } from "./pem-files.ts";
import { type Environment, proxyFor } from "./proxy.ts";
import type { CaReload } from "./request-metrics.ts";
import {
  ConnectionLost,
  type Exchange,
  type HttpResponse,
  type ServerConnection,
} from "./server-connection.ts";

/** TCP on its own would retry for minutes. */
const dialTimeoutMs = 10_000;
const maxOpenings = 20;

/**
 * The connections to one server. Exchanges share a connection as long as it has capacity. When our certificate or the CA
 * changes, all of them are renewed: those in progress are finished on the old connection, streams are notified through
 * `onRenewed`.
 */
export class Connections {
  readonly #cluster: ClusterAccess;
  readonly #proxy: URL | undefined;
  /** HTTP/2 can be disabled by the environment, as in all Kubernetes clients in Go. */
  readonly #protocols: Dialed["protocol"][];
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #certificateAuthority: PemFiles<string> | undefined;
  readonly #onRenewed: () => void;
  readonly #outages: OutageLog;
  #credentials: { authority: string | undefined; clientCertificate: KeyPair | undefined } | undefined;
  #connections: ServerConnection[] = [];
  #opening: Promise<void> | undefined;
  #closed = new AbortController();
  #isUnreachable = false;
  readonly #onReconnect = new Listeners();

  constructor(options: {
    cluster: ClusterAccess;
    env: Environment;
    clock: Clock;
    logger: Logger;
    outages?: OutageLog | undefined;
    onCaReload?: (reason: CaReload) => void;
    /** False: the file of the certificate authority is read once. */
    reloadsCa?: boolean;
    onRenewed: () => void;
  }) {
    this.#cluster = options.cluster;
    this.#proxy = proxyFor(options.cluster.server, options.cluster.proxyUrl, options.env);
    this.#protocols = options.env.DISABLE_HTTP2 ? ["http/1.1"] : ["h2", "http/1.1"];
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#onRenewed = options.onRenewed;
    this.#outages = options.outages ?? new OutageLog(options.logger, options.clock);
    const source = options.cluster.certificateAuthority;
    if (source) {
      const make = ([pem = ""]: readonly string[]) => certificateAuthority(pem, source.field);
      this.#certificateAuthority = new PemFiles([source], make, {
        ...options,
        onReload: options.onCaReload,
        reloads: options.reloadsCa,
      });
    }
  }

  async exchange(exchange: Exchange, clientCertificate: KeyPair | undefined): Promise<HttpResponse> {
    this.#readCredentials(await this.#certificateAuthority?.current(), clientCertificate);
    for (let opened = 0; ; opened++) {
      if (this.#closed.signal.aborted)
        throw markReported(new KubeletError("KubeTransport", "the client is closed"));
      const connection = this.#connections.find((candidate) => candidate.hasCapacity());
      if (connection) return this.#watched(connection, exchange);
      // Waiters may fill a new connection. But a server that shuts down may reject every request, as fast as we connect.
      if (opened >= maxOpenings) throw new Error("the server takes no requests on new connections");
      // A caller that needs a connection while one is being opened waits for that one.
      this.#opening ??= this.#open().finally(() => {
        this.#opening = undefined;
      });
      await orAbort(this.#opening, exchange.signal);
    }
  }

  async #watched(connection: ServerConnection, exchange: Exchange): Promise<HttpResponse> {
    // Only a missing response makes a connection suspicious, not the time that reading one takes.
    using _ = whenAborted(exchange.signal, () => connection.suspect());
    try {
      return await connection.exchange(exchange);
    } catch (error) {
      // A working connection breaks when the server goes down: the next one that cannot be opened is logged. One
      // that continues (HTTP/2) has only this request reset.
      const isLost = error instanceof ConnectionLost && error.reused;
      throw isLost && (connection.protocol === "http/1.1" || !connection.hasCapacity())
        ? markReported(error)
        : error;
    }
  }

  #readCredentials(authority: string | undefined, clientCertificate: KeyPair | undefined): void {
    const before = this.#credentials;
    if (before && before.authority === authority && before.clientCertificate === clientCertificate) return;
    this.#credentials = { authority, clientCertificate };
    if (!before) return;
    this.#logger.info("Credentials changed, reconnecting to the API server");
    for (const connection of this.#connections.splice(0)) connection.retire();
    this.#onRenewed();
  }

  async #open(): Promise<void> {
    const credentials = this.#credentials;
    const connection = await this.#withDialTimeout(async (signal) =>
      this.#connect(await this.#dial(signal), signal),
    );
    // The credentials have changed in the meantime: this connection must not be used.
    if (credentials !== this.#credentials || this.#closed.signal.aborted) connection.destroy();
    else this.#connections.push(connection);
  }

  async #connect({ socket, protocol }: Dialed, signal: AbortSignal): Promise<ServerConnection> {
    const { server } = this.#cluster;
    if (protocol === "http/1.1") {
      const another = () =>
        this.#withDialTimeout(async (dialSignal) => (await this.#dial(dialSignal)).socket);
      return new Http1Connection(socket, server, another);
    }
    const connection = new Http2Connection(socket, server, this.#clock, () => {
      this.#connections = this.#connections.filter((other) => other !== connection);
    });
    await connection.ready(signal);
    return connection;
  }

  onReconnect(listener: () => void): () => void {
    return this.#onReconnect.add(listener);
  }

  #dial(signal: AbortSignal): Promise<Dialed> {
    const { server, insecureSkipTlsVerify, tlsServerName } = this.#cluster;
    const credentials = {
      authority: this.#credentials?.authority,
      clientCertificate: this.#credentials?.clientCertificate,
      insecure: insecureSkipTlsVerify,
      serverName: tlsServerName,
    };
    return dial(server, this.#proxy, credentials, this.#protocols, signal);
  }

  async #withDialTimeout<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const timeoutError = () => new Error(`no connection within ${dialTimeoutMs / 1000} s`);
    const limits = { clock: this.#clock, ms: dialTimeoutMs, signal: this.#closed.signal, timeoutError };
    try {
      const connection = await within(limits, work);
      const wasUnreachable = this.#isUnreachable;
      this.#isUnreachable = false;
      this.#outages.reachable(this.#cluster.server.host);
      if (wasUnreachable) this.#onReconnect.notify();
      return connection;
    } catch (error) {
      this.#isUnreachable = true;
      if (!this.#closed.signal.aborted) this.#outages.unreachable(this.#cluster.server.host, error);
      throw markReported(error);
    }
  }

  close(): void {
    this.#closed.abort();
    for (const connection of this.#connections.splice(0)) connection.destroy();
  }
}
