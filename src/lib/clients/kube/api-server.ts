import { orAbort, whenAborted } from "../../base/abort.ts";
import { type Clock, msSince, systemClock } from "../../base/clock.ts";
import { abortError, isAbort, type KubeletError, messageOf } from "../../base/errors.ts";
import { Listeners } from "../../base/listeners.ts";
import { type Logger, silentLogger } from "../../base/logger.ts";
import { formatTraceparent } from "../../base/tracing/trace-context.ts";
import type { Tracer } from "../../base/tracing/tracer.ts";
import { within } from "../../base/wait.ts";
import { apiError, KubeApiError, TransportError } from "./api-error.ts";
import { type Authenticator, authenticatorFor, type Credentials } from "./auth.ts";
import { chunksOf, readText, truncated } from "./body.ts";
import { Connections } from "./connections.ts";
import type { KubeAccess } from "./kubeconfig.ts";
import type { OutageLog } from "./outage-log.ts";
import type { Environment } from "./proxy.ts";
import type { RequestMetrics } from "./request-metrics.ts";
import type { HttpResponse } from "./server-connection.ts";
import type { Query } from "./transport-interface.ts";
import { Warnings } from "./warnings.ts";

export interface ApiServerOptions {
  readonly access: KubeAccess;
  readonly userAgent: string;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** For the proxy variables. */
  readonly env?: Environment;
  readonly stdinIsTerminal?: boolean;
  readonly metrics?: RequestMetrics | undefined;
  /** Called for each response, including those that are retried; status 0: no response. */
  readonly onResponse?: (response: ObservedResponse) => void;
  /** Absent: no spans are created. */
  readonly tracer?: Tracer | undefined;
  /** Shared by clients of the same server. */
  readonly outages?: OutageLog | undefined;
  readonly features?: ClientFeatures | undefined;
}

/** Each is on unless set to false. */
export interface ClientFeatures {
  /** WatchListClient: reflectors stream their lists. */
  readonly watchList?: boolean;
  /** ClientsAllowCARotation: the file of the certificate authority is read again when it changes. */
  readonly caRotation?: boolean;
}

export interface ObservedResponse {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly status: number;
  readonly ms: number;
  /** Why it failed, if it did; an AbortError if the caller aborted it. */
  readonly failure: unknown;
}

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: Query | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
}

/** How one attempt ended. */
export type Attempt<T> =
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly failure: unknown; readonly credentials: Credentials | undefined };

const maxErrorBody = 1024 * 1024;

/** One API server: the credentials of the client, the connections, and a single attempt of a request. */
export class ApiServer {
  readonly clock: Clock;
  readonly #options: ApiServerOptions;
  readonly #auth: Authenticator;
  readonly #connections: Connections;
  readonly #warnings: Warnings;
  #closed = false;
  /** Functions that end each open stream, for when connections are renewed. */
  readonly #streams = new Listeners();

  constructor(options: ApiServerOptions) {
    this.#options = options;
    this.clock = options.clock ?? systemClock;
    const logger = options.logger ?? silentLogger;
    this.#warnings = new Warnings(logger);
    const { access, stdinIsTerminal } = options;
    const plugins = options.metrics?.plugins;
    this.#auth = authenticatorFor(access, { clock: this.clock, logger, stdinIsTerminal, plugins });
    this.#connections = new Connections({
      cluster: access.cluster,
      env: options.env ?? process.env,
      clock: this.clock,
      logger,
      outages: options.outages,
      reloadsCa: options.features?.caRotation !== false,
      onCaReload: (reason) => options.metrics?.caReloaded(reason),
      onRenewed: () => this.#streams.notify(),
    });
  }

  get metrics(): RequestMetrics | undefined {
    return this.#options.metrics;
  }

  get streamsLists(): boolean {
    return this.#options.features?.watchList !== false;
  }

  get host(): string {
    return this.#options.access.cluster.server.host;
  }

  get acceptsCompression(): boolean {
    return !this.#options.access.cluster.disableCompression;
  }

  /** `handle` gets a controller that ends the exchange: the response may be read after the attempt has ended. */
  attempt<T>(
    call: Call,
    handle: (response: HttpResponse, controller: AbortController) => Promise<T>,
  ): Promise<Attempt<T>> {
    const { tracer } = this.#options;
    return tracer ? this.#traced(tracer, call, handle) : this.#attempt(call, handle);
  }

  /** One span for each attempt, as the server sees it. For a watch it ends when the response starts. */
  #traced<T>(
    tracer: Tracer,
    call: Call,
    handle: (response: HttpResponse, controller: AbortController) => Promise<T>,
  ): Promise<Attempt<T>> {
    const { method } = call;
    const { origin, hostname, port, protocol } = this.#options.access.cluster.server;
    const attributes = {
      "http.request.method": method,
      "url.full": `${origin}${this.#target(call)}`,
      "server.address": hostname,
      "server.port": Number(port) || (protocol === "https:" ? 443 : 80),
    };
    return tracer.run(`HTTP ${method}`, { kind: "client", attributes }, async (span) => {
      const headers = { ...call.headers, traceparent: formatTraceparent(span) };
      const attempt = await this.#attempt({ ...call, headers }, (response, controller) => {
        span.set("http.response.status_code", response.status);
        return handle(response, controller);
      });
      if (attempt.kind === "done" || isAbort(attempt.failure)) return attempt;
      const { failure } = attempt;
      if (failure instanceof KubeApiError) span.set("http.response.status_code", failure.status);
      span.fail(messageOf(failure));
      return attempt;
    });
  }

  async #attempt<T>(
    call: Call,
    handle: (response: HttpResponse, controller: AbortController) => Promise<T>,
  ): Promise<Attempt<T>> {
    const startedAt = this.clock.monotonic();
    const controller = new AbortController();
    let credentials: Credentials | undefined;
    let status = 0;
    let failed: unknown;
    const timeoutError = () =>
      new TransportError(`${this.name(call)}: no response within ${call.timeoutMs / 1000} s`);
    try {
      const limits = { clock: this.clock, ms: call.timeoutMs, signal: call.signal, timeoutError };
      const value = await within(limits, async (signal) => {
        whenAborted(signal, () => controller.abort(signal.reason));
        credentials = await this.#auth.current(signal);
        const response = await this.#connections.exchange(
          {
            method: call.method,
            path: this.#target(call),
            headers: this.#headers(call, credentials),
            body: call.body,
            signal: controller.signal,
          },
          credentials.clientCertificate,
        );
        status = response.status;
        this.#warnings.log(response.headers.warning);
        if (status >= 300) throw await this.#errorOf(call, response);
        return handle(response, controller);
      });
      return { kind: "done", value };
    } catch (failure) {
      controller.abort();
      failed = failure;
      return { kind: "failed", failure, credentials };
    } finally {
      const { host } = this;
      const { method, path } = call;
      const ms = msSince(this.clock, startedAt);
      this.metrics?.responded({ method, host, status });
      this.#options.onResponse?.({ method, host, path, status, ms, failure: failed });
    }
  }

  onReconnect(listener: () => void): () => void {
    return this.#connections.onReconnect(listener);
  }

  /** After a 401: are there new credentials to try? */
  async hasNewCredentials(rejected: Credentials, signal: AbortSignal | undefined): Promise<boolean> {
    try {
      return await orAbort(this.#auth.rejected(rejected, signal), signal);
    } catch (error) {
      if (isAbort(error)) throw error;
      this.#options.logger?.warn("Failed to refresh credentials", { err: messageOf(error) });
      return false;
    }
  }

  /** The body of a response as a stream. It ends when the caller aborts, and fails when the connection does. */
  async *read(
    call: Call,
    response: HttpResponse,
    controller: AbortController,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    try {
      yield* chunksOf(response.body);
      if (!response.isWhole()) throw new Error(truncated);
    } catch (error) {
      if (!signal.aborted)
        throw this.describeError(call, controller.signal.aborted ? controller.signal.reason : error);
    }
  }

  /** Ends the stream with its signal, or when its connection is renewed. */
  bindToSignal(response: HttpResponse, controller: AbortController, signal: AbortSignal): void {
    const close = () => controller.abort(new Error("the connection is renewed"));
    const aborted = whenAborted(signal, () => controller.abort(abortError(signal.reason)));
    const remove = this.#streams.add(close);
    response.body.once("close", () => {
      aborted[Symbol.dispose]();
      remove();
    });
    // Readers get the error; without a listener, an error while there is no reader would exit the process.
    response.body.on("error", () => {});
  }

  /** The error for callers. */
  describeError(call: Call, failure: unknown): Error {
    if (failure instanceof KubeApiError || failure instanceof TransportError) return failure;
    return new TransportError(`${this.name(call)}: ${messageOf(failure)}`, { cause: failure });
  }

  name(call: { method: string; path: string }): string {
    const { server } = this.#options.access.cluster;
    return `${call.method} ${server.origin}${prefix(server)}${call.path}`;
  }

  close(): void {
    const { clientCertificate } = this.#options.access.user;
    if (!this.#closed) this.metrics?.transportClosed(clientCertificate?.cert.kind === "file");
    this.#closed = true;
    this.#connections.close();
  }

  #target({ path, query }: Call): string {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value !== undefined) search.append(name, String(value));
    }
    const text = search.toString();
    const whole = `${prefix(this.#options.access.cluster.server)}${path}`;
    return text ? `${whole}?${text}` : whole;
  }

  #headers(call: Call, credentials: Credentials): Record<string, string> {
    return {
      accept: "application/json",
      "user-agent": this.#options.userAgent,
      ...call.headers,
      ...(credentials.authorization && { authorization: credentials.authorization }),
    };
  }

  async #errorOf(call: Call, response: HttpResponse): Promise<KubeletError> {
    const header = response.headers["retry-after"];
    return apiError({
      method: call.method,
      url: this.name(call).slice(call.method.length + 1),
      status: response.status,
      retryAfter: Array.isArray(header) ? header[0] : header,
      body: await readText(response, maxErrorBody),
      now: this.clock.wall(),
    });
  }
}

/** A server behind a reverse proxy may have a path prefix. */
function prefix(server: URL): string {
  return server.pathname.replace(/\/+$/, "");
}
