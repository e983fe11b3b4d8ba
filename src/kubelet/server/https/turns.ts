import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * The requests of a connection of HTTP/1.1, one after the other: many may be sent before the first of them is answered, and
 * answering all of these at once would keep others waiting. Who sends too many ahead is cut.
 */
export class Turns {
  readonly #maxAhead: number;
  /** Of those that have a request under way: the requests behind it. */
  readonly #waiting = new WeakMap<Socket, (() => void)[]>();

  constructor(maxAhead: number) {
    this.#maxAhead = maxAhead;
  }

  /** Begins at once, or when all answers before this one are sent. */
  take(socket: Socket, response: ServerResponse, begin: () => void): void {
    const waiting = this.#waiting.get(socket);
    if (!waiting) return this.#begin(socket, response, begin, []);
    if (waiting.length >= this.#maxAhead) return void socket.destroy();
    waiting.push(() => this.#begin(socket, response, begin, waiting));
  }

  #begin(socket: Socket, response: ServerResponse, begin: () => void, waiting: (() => void)[]): void {
    this.#waiting.set(socket, waiting);
    response.once("close", () => {
      const next = socket.destroyed ? undefined : waiting.shift();
      if (next) next();
      else this.#waiting.delete(socket);
    });
    begin();
  }
}
