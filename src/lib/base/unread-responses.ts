import type { ServerResponse } from "node:http";

/**
 * Complete responses that their clients have still to read. A client decides how long that takes, and with HTTP/2 how many responses it has
 * at a time. So unauthenticated clients may have only a limited number: if there are too many, the oldest is dropped.
 */
export class UnreadResponses {
  readonly #limit: number;
  /** The oldest is first. */
  readonly #open = new Set<ServerResponse>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The response is not closed yet. */
  add(response: ServerResponse): void {
    this.#open.add(response);
    response.once("close", () => this.#open.delete(response));
    if (this.#open.size <= this.#limit) return;
    const [oldest] = this.#open;
    if (oldest) this.#open.delete(oldest);
    oldest?.destroy();
  }
}
