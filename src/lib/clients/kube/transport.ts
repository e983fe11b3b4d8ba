import { msSince, sleep } from "../../base/clock.ts";
import { isAbort } from "../../base/errors.ts";
import { RateLimit } from "../../base/rate-limit.ts";
import { KubeApiError, TransportError } from "./api-error.ts";
import { ApiServer, type ApiServerOptions, type Call } from "./api-server.ts";
import { readText } from "./body.ts";
import { ConnectionLost, type HttpResponse } from "./server-connection.ts";
import type { KubeRequest, KubeStreamRequest, KubeTransport } from "./transport-interface.ts";

export interface TransportOptions extends ApiServerOptions {
  /** Requests a second on average, and in a burst (kubeAPIQPS, kubeAPIBurst). 0 or less: no limit. */
  readonly qps: number;
  readonly burst: number;
  readonly maxBodyBytes?: number;
}

/** The request timeout of an API server. */
const defaultTimeoutMs = 60_000;
const defaultMaxBody = 64 * 1024 * 1024;

/** The user agent that the API server sees. */
export function kubeletUserAgent(version: string, arch: string, commit: string): string {
  return `kubelet/${version} (linux/${arch}) kubernetes/${commit.slice(0, 7) || "unknown"}`;
}

/** The client of one API server: handles credentials, connections, rate limit and retries. */
export class HttpKubeTransport implements KubeTransport {
  readonly #server: ApiServer;
  readonly #limit: RateLimit;
  readonly #maxBody: number;
  readonly #owned: boolean;

  constructor(options: TransportOptions, shared?: ApiServer) {
    this.#server = shared ?? new ApiServer(options);
    this.#owned = !shared;
    this.#server.metrics?.transportCreated(shared ? "hit" : "miss");
    this.#limit = new RateLimit(options.qps, options.burst, this.#server.clock);
    this.#maxBody = options.maxBodyBytes ?? defaultMaxBody;
  }

  /** The same connections and credentials with its own rate limit, so that a lease never waits behind events. */
  static sharing(
    other: HttpKubeTransport,
    options: Pick<TransportOptions, "qps" | "burst" | "maxBodyBytes">,
  ): HttpKubeTransport {
    return new HttpKubeTransport(options as TransportOptions, other.#server);
  }

  async request<T>(call: KubeRequest): Promise<T> {
    const body = call.body === undefined ? undefined : Buffer.from(JSON.stringify(call.body));
    const outgoing: Call = {
      method: call.method,
      path: call.path,
      query: call.query,
      headers: {
        ...(body && { "content-type": call.contentType ?? "application/json" }),
        "accept-encoding": this.#server.acceptsCompression ? "gzip" : "identity",
      },
      body,
      signal: call.signal,
      timeoutMs: call.timeoutMs ?? defaultTimeoutMs,
    };
    const text = await this.#try(outgoing, (response) => readText(response, this.#maxBody));
    this.#server.metrics?.received(call.method, this.#server.host, Buffer.byteLength(text));
    if (text === "") return undefined as T;
    try {
      return JSON.parse(text) as T;
    } catch (error) {
      throw new TransportError(`${this.#server.name(call)}: the response is not JSON`, { cause: error });
    }
  }

  async stream(call: KubeStreamRequest): Promise<AsyncIterable<Uint8Array>> {
    const outgoing: Call = {
      method: "GET",
      path: call.path,
      query: call.query,
      headers: { "accept-encoding": "identity" },
      body: undefined,
      signal: call.signal,
      timeoutMs: call.timeoutMs ?? defaultTimeoutMs,
    };
    return this.#try(outgoing, async (response, controller) => {
      this.#server.bindToSignal(response, controller, call.signal);
      return this.#server.read(outgoing, response, controller, call.signal);
    });
  }

  get streamsLists(): boolean {
    return this.#server.streamsLists;
  }

  onReconnect(listener: () => void): () => void {
    return this.#server.onReconnect(listener);
  }

  close(): void {
    if (this.#owned) this.#server.close();
  }

  async #try<T>(
    call: Call,
    handle: (response: HttpResponse, controller: AbortController) => Promise<T>,
  ): Promise<T> {
    const { clock, metrics, host } = this.#server;
    const startedAt = clock.monotonic();
    metrics?.sent(call.method, host, call.body?.length ?? 0);
    try {
      return await this.#tryAgain(call, handle);
    } finally {
      metrics?.finished(call.method, host, msSince(clock, startedAt) / 1000);
    }
  }

  /** Retries until there is a result or a permanent failure. */
  async #tryAgain<T>(
    call: Call,
    handle: (response: HttpResponse, controller: AbortController) => Promise<T>,
  ): Promise<T> {
    const { clock, metrics, host } = this.#server;
    let renewed = false;
    for (let tries = 1; ; tries++) {
      const requestedAt = clock.monotonic();
      await this.#limit.take(call.signal);
      metrics?.throttled(call.method, host, msSince(clock, requestedAt) / 1000);
      const attempt = await this.#server.attempt(call, handle);
      if (attempt.kind === "done") return attempt.value;
      const { failure, credentials } = attempt;
      if (call.signal?.aborted && isAbort(failure)) throw failure;
      if (failure instanceof KubeApiError && failure.status === 401 && credentials && !renewed) {
        renewed = true;
        if (await this.#server.hasNewCredentials(credentials, call.signal)) continue;
      }
      const wait = retryAfter(failure, tries, call.method);
      if (wait === undefined) throw this.#server.describeError(call, failure);
      const status = failure instanceof KubeApiError ? failure.status : 0;
      metrics?.retried({ method: call.method, host, status });
      if (wait > 0) await sleep(clock, wait, call.signal);
    }
  }
}

/** As many attempts as client-go makes. */
export const maxTries = 11;
/** A longer Retry-After is left to the caller. */
const maxWaitMs = 30_000;

/** How long to wait before a retry; undefined: no retry. */
export function retryAfter(failure: unknown, tries: number, method: string): number | undefined {
  if (tries >= maxTries) return undefined;
  if (failure instanceof KubeApiError) {
    // Such a server has not processed the request; without Retry-After it does not expect another attempt.
    const wantsRetry = failure.status === 429 || failure.status >= 500;
    const wait = failure.retryAfterMs;
    return wantsRetry && wait !== undefined && wait <= maxWaitMs ? wait : undefined;
  }
  if (failure instanceof ConnectionLost) {
    // Reads are safe to retry, but only a reused connection may have been closed as idle.
    const isSafe = failure.unprocessed || (method === "GET" && failure.reused);
    return isSafe && tries <= 2 ? 0 : undefined;
  }
  return undefined;
}
