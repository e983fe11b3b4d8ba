import { type ClientHttp2Session, connect, constants } from "node:http2";
import type { Duplex } from "node:stream";
import { whenAborted } from "../../base/abort.ts";
import { type Clock, msFromNow } from "../../base/clock.ts";
import { abortError, errnoOf, messageOf } from "../../base/errors.ts";
import "../../base/pushed-streams.ts";
import type { MonotonicTime } from "../../base/time.ts";
import {
  ConnectionLost,
  type Exchange,
  type HttpResponse,
  type ServerConnection,
} from "./server-connection.ts";

/** A connection on which a ping gets no reply is dead, however long TCP may still retry. */
const pingEveryMs = 30_000;
const pingDeadlineMs = 15_000;
const suspectDeadlineMs = 5_000;

// The default windows of 64 KiB would make each large list wait for many round trips. An unread stream blocks only
// itself: Node.js returns the connection's window as soon as the bytes have arrived.
const streamWindow = 512 * 1024;
const connectionWindow = 4 * 1024 * 1024;

const unsentErrors = new Set([
  "ERR_HTTP2_GOAWAY_SESSION",
  "ERR_HTTP2_INVALID_SESSION",
  "ERR_HTTP2_OUT_OF_STREAMS",
]);

/** All exchanges, including watches, on one connection. */
export class Http2Connection implements ServerConnection {
  readonly protocol = "h2";
  readonly #session: ClientHttp2Session;
  readonly #clock: Clock;
  readonly #onGone: () => void;
  #open = 0;
  #served = false;
  #retired = false;
  #reason: unknown;
  #cancelPing: () => void = () => {};
  #pingDueAt: MonotonicTime | undefined;

  constructor(socket: Duplex, server: URL, clock: Clock, onGone: () => void) {
    this.#clock = clock;
    this.#onGone = onGone;
    this.#session = connect(server.origin, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: streamWindow },
    });
    this.#session.on("connect", () => this.#session.setLocalWindowSize(connectionWindow));
    this.#session.on("error", (error) => {
      this.#reason ??= error;
    });
    this.#session.on("goaway", () => this.retire());
    this.#session.on("close", () => {
      this.#retired = true;
      this.#cancelPing();
      this.#onGone();
    });
    this.#pingLater();
  }

  /** Resolves when the server has announced how many streams it accepts. A rejected certificate is known by then, too. */
  ready(signal: AbortSignal): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const aborted = whenAborted(signal, () => this.destroy());
      this.#session.once("remoteSettings", () => {
        aborted[Symbol.dispose]();
        resolve();
      });
      this.#session.once("close", () => {
        aborted[Symbol.dispose]();
        reject(this.#reason ?? new Error("the server closed the connection immediately"));
      });
    });
  }

  hasCapacity(): boolean {
    if (this.#retired || this.#session.closed || this.#session.destroyed) return false;
    return this.#open < (this.#session.remoteSettings.maxConcurrentStreams ?? Number.POSITIVE_INFINITY);
  }

  exchange(exchange: Exchange): Promise<HttpResponse> {
    const { method, path, headers, body, signal } = exchange;
    if (signal.aborted) return Promise.reject(abortError(signal.reason));
    const reused = this.#served;
    return new Promise((resolve, reject) => {
      let stream: ReturnType<ClientHttp2Session["request"]>;
      try {
        stream = this.#session.request(
          { ":method": method, ":path": path, ...headers },
          { endStream: !body },
        );
      } catch (error) {
        const unprocessed = unsentErrors.has(errnoOf(error) ?? "");
        reject(new ConnectionLost(messageOf(error), { unprocessed, reused, cause: error }));
        return;
      }
      this.#open++;
      let responded = false;
      let failure: unknown;
      const aborted = whenAborted(signal, () => {
        stream.close(constants.NGHTTP2_CANCEL);
        // On a connection that hangs, the close would wait for its frame to be sent.
        stream.destroy();
      });
      stream.on("response", (responseHeaders) => {
        responded = true;
        this.#served = true;
        resolve({
          status: Number(responseHeaders[":status"]),
          headers: responseHeaders as HttpResponse["headers"],
          body: stream,
          isWhole: () => stream.rstCode === constants.NGHTTP2_NO_ERROR,
        });
      });
      stream.on("error", (error) => {
        failure = error;
      });
      stream.on("close", () => {
        this.#open--;
        aborted[Symbol.dispose]();
        if (responded) return;
        if (signal.aborted) return reject(abortError(signal.reason));
        const cause = this.#reason ?? failure;
        reject(
          new ConnectionLost(cause === undefined ? "the connection was closed" : messageOf(cause), {
            unprocessed: stream.rstCode === constants.NGHTTP2_REFUSED_STREAM,
            reused,
            cause,
          }),
        );
      });
      if (body) stream.end(body);
    });
  }

  suspect(): void {
    this.#ping(suspectDeadlineMs);
  }

  retire(): void {
    this.#retired = true;
    // Lets open streams finish.
    if (!this.#session.closed && !this.#session.destroyed) this.#session.close();
  }

  destroy(): void {
    this.#end(new Error("the client is closed"));
  }

  #end(reason: Error): void {
    this.#retired = true;
    this.#reason ??= reason;
    // Without an error, streams would just end, as if the server had ended them.
    this.#session.destroy(reason, constants.NGHTTP2_CANCEL);
  }

  #pingLater(): void {
    this.#cancelPing();
    this.#pingDueAt = undefined;
    this.#cancelPing = this.#clock.after(pingEveryMs, () => this.#ping(pingDeadlineMs));
  }

  #ping(timeoutMs: number): void {
    if (this.#session.destroyed) return;
    const dueAt = msFromNow(this.#clock, timeoutMs);
    // Repeated calls must not postpone the end.
    if (this.#pingDueAt !== undefined && this.#pingDueAt <= dueAt) return;
    this.#cancelPing();
    this.#pingDueAt = dueAt;
    this.#cancelPing = this.#clock.after(timeoutMs, () => {
      this.#end(new Error(`the connection is dead: no reply to a ping within ${timeoutMs / 1000} s`));
    });
    try {
      this.#session.ping((error) => {
        if (!error && !this.#session.destroyed) this.#pingLater();
      });
    } catch {
      // Already closing, or too many pings are pending: the deadline decides.
    }
  }
}
