import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Handles pipelined HTTP/1.1 requests of a connection one at a time, so that one client does not delay others. A connection
 * with too many pipelined requests is closed.
 */
export class RequestQueue {
  readonly #maxQueued: number;
  /** The queued requests of each connection that has a request in progress. */
  readonly #waiting = new WeakMap<Socket, (() => void)[]>();

  constructor(maxQueued: number) {
    this.#maxQueued = maxQueued;
  }

  /** Starts immediately, or when all earlier responses are sent. */
  add(socket: Socket, response: ServerResponse, start: () => void): void {
    const waiting = this.#waiting.get(socket);
    if (!waiting) return this.#start(socket, response, start, []);
    if (waiting.length >= this.#maxQueued) return void socket.destroy();
    waiting.push(() => this.#start(socket, response, start, waiting));
  }

  #start(socket: Socket, response: ServerResponse, start: () => void, waiting: (() => void)[]): void {
    this.#waiting.set(socket, waiting);
    response.once("close", () => {
      const next = socket.destroyed ? undefined : waiting.shift();
      if (next) next();
      else this.#waiting.delete(socket);
    });
    start();
  }
}
