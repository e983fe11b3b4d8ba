import type { Clock } from "../../base/clock.ts";
import { messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";

/** Logs when an API server cannot be reached any more, and when it can again: one line each, for all of an agent's clients. */
export class OutageLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  /** Since when, by server. */
  readonly #away = new Map<string, number>();

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  unreachable(server: string, error: unknown): void {
    if (this.#away.has(server)) return;
    this.#away.set(server, this.#clock.now());
    this.#logger.warn("API server is unreachable, will keep trying", { server, err: messageOf(error) });
  }

  reachable(server: string): void {
    const since = this.#away.get(server);
    if (since === undefined) return;
    this.#away.delete(server);
    const seconds = Math.round((this.#clock.now() - since) / 1000);
    this.#logger.info("API server is reachable again", { server, outageSeconds: seconds });
  }
}
