import type { EventEmitter } from "node:events";
import type { CallerLimits } from "../access.ts";
import type { Caller } from "../definition.ts";
import { tooManyRequests } from "./problems.ts";

/** A socket, or a session of HTTP/2. */
export type Connection = EventEmitter & { readonly destroyed: boolean };

interface User {
  readonly connections: Set<Connection>;
  requests: number;
  watches: number;
}

/** Counts what each user has open, so that one user cannot use up what all share. */
export class RequestsInProgress {
  readonly #limitsOf: (caller: Caller) => CallerLimits | undefined;
  /** The limit of all limited users together, so that connections remain for the other users. */
  readonly #limit: number;
  readonly #users = new Map<string, User>();
  #open = 0;

  constructor(limitsOf: (caller: Caller) => CallerLimits | undefined, limit: number) {
    this.#limitsOf = limitsOf;
    this.#limit = limit;
  }

  /** Returns a function that ends the request. Throws if the user has too many open. `isWatch`: it has no timeout. */
  begin(caller: Caller, connection: Connection, isWatch: boolean): () => void {
    const limits = this.#limitsOf(caller);
    if (!limits) return () => {};
    const { name } = caller;
    const user = this.#users.get(name) ?? { connections: new Set(), requests: 0, watches: 0 };
    // A connection that was closed in the meantime does not report it again.
    const isNew = !connection.destroyed && !user.connections.has(connection);
    if (
      this.#open >= this.#limit ||
      (isNew && user.connections.size >= limits.connections) ||
      (isWatch ? user.watches >= limits.watches : user.requests >= limits.requests)
    )
      throw tooManyRequests();
    this.#users.set(name, user);
    const forget = () => {
      if (user.connections.size + user.requests + user.watches === 0) this.#users.delete(name);
    };
    if (isNew) {
      user.connections.add(connection);
      connection.once("close", () => {
        user.connections.delete(connection);
        forget();
      });
    }
    const count = isWatch ? "watches" : "requests";
    user[count]++;
    this.#open++;
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      user[count]--;
      this.#open--;
      forget();
    };
  }
}
