import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";
import { whenAborted } from "../../base/abort.ts";
import { abortError, messageOf } from "../../base/errors.ts";
import {
  ConnectionLost,
  type Exchange,
  type HttpResponse,
  type ServerConnection,
} from "./server-connection.ts";

/** For servers without HTTP/2: one connection for each concurrent exchange, kept alive for later ones. */
export class Http1Connection implements ServerConnection {
  readonly protocol = "http/1.1";
  readonly #agent: DialingAgent;
  readonly #host: string;
  #retired = false;

  /** `first` is an open connection. */
  constructor(first: Duplex, server: URL, dial: () => Promise<Duplex>) {
    this.#agent = new DialingAgent(first, dial);
    this.#host = server.host;
  }

  hasCapacity(): boolean {
    return !this.#retired;
  }

  exchange(exchange: Exchange): Promise<HttpResponse> {
    const { method, path, headers, body, signal } = exchange;
    if (signal.aborted) return Promise.reject(abortError(signal.reason));
    return new Promise((resolve, reject) => {
      const call: ClientRequest = request({
        agent: this.#agent,
        method,
        path,
        headers: { ...headers, host: this.#host, ...(body && { "content-length": body.length }) },
      });
      let incoming: IncomingMessage | undefined;
      const aborted = whenAborted(signal, () => {
        incoming?.destroy(abortError(signal.reason));
        call.destroy(abortError(signal.reason));
      });
      call.on("close", () => aborted[Symbol.dispose]());
      call.on("response", (response) => {
        incoming = response;
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: response,
          isWhole: () => response.complete,
        });
      });
      // Without a listener Node.js would report neither a response nor an error.
      call.on("upgrade", (_, socket) => {
        socket.destroy();
        const why = "the response switches protocols";
        reject(new ConnectionLost(why, { unprocessed: false, reused: false }));
      });
      call.on("error", (error) => {
        if (signal.aborted) return reject(abortError(signal.reason));
        const dialFailure = this.#agent.failures.has(error);
        reject(
          dialFailure
            ? error
            : new ConnectionLost(messageOf(error), {
                unprocessed: false,
                reused: call.reusedSocket,
                cause: error,
              }),
        );
      });
      call.end(body);
    });
  }

  suspect(): void {
    // A request without a response has ended its connection, which is not shared.
  }

  retire(): void {
    this.#retired = true;
    this.#agent.retire();
  }

  destroy(): void {
    this.retire();
    this.#agent.destroy();
  }
}

type Created = (error: Error | null, socket: Duplex) => void;

class DialingAgent extends Agent {
  /** Errors of connections that were never established. */
  readonly failures = new WeakSet<Error>();
  readonly #dial: () => Promise<Duplex>;
  #first: Duplex | undefined;

  constructor(first: Duplex, dial: () => Promise<Duplex>) {
    super({ keepAlive: true, scheduling: "lifo" });
    this.#first = first;
    this.#dial = dial;
    first.once("close", () => {
      if (this.#first === first) this.#first = undefined;
    });
  }

  override createConnection(_options: unknown, created?: Created): Duplex | undefined {
    const first = this.#first;
    this.#first = undefined;
    if (first && !first.destroyed) return first;
    this.#dial().then(
      (socket) => created?.(null, socket),
      (error: unknown) => {
        const failure = error instanceof Error ? error : new Error(String(error));
        this.failures.add(failure);
        created?.(failure, undefined as never);
      },
    );
    return undefined;
  }

  /** Idle connections are closed now, the others when their exchange has ended. */
  retire(): void {
    this.#first?.destroy();
    this.maxFreeSockets = 0;
    for (const sockets of Object.values(this.freeSockets))
      for (const socket of sockets ?? []) socket.destroy();
  }
}
