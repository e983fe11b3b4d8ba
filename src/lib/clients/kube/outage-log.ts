import { type Clock, msSince } from "../../base/clock.ts";
import { errnoOf, messageOf } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import type { MonotonicTime } from "../../base/time.ts";

/** An outage with ever-changing reasons must not fill the log. */
const maxReasons = 8;

/**
 * Logs when an API server becomes unreachable, and when it is reachable again: one line each, for all clients of an
 * agent. An outage that continues for another reason (first connection refused, then an invalid certificate) is logged
 * again.
 */
export class OutageLog {
  readonly #logger: Logger;
  readonly #clock: Clock;
  /** The start of each outage and the reasons for it, by server. */
  readonly #outages = new Map<string, { since: MonotonicTime; reasons: Set<string> }>();

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  unreachable(server: string, error: unknown): void {
    const err = messageOf(error);
    const outage = this.#outages.get(server);
    if (!outage) {
      this.#outages.set(server, { since: this.#clock.monotonic(), reasons: new Set([reasonOf(error)]) });
      return this.#logger.warn("API server is unreachable, will keep trying", { server, err });
    }
    const { reasons } = outage;
    const reason = reasonOf(error);
    if (reasons.has(reason) || reasons.size >= maxReasons) return;
    reasons.add(reason);
    this.#logger.warn("API server is unreachable for another reason, will keep trying", { server, err });
  }

  reachable(server: string): void {
    const outage = this.#outages.get(server);
    if (!outage) return;
    this.#outages.delete(server);
    const seconds = Math.round(msSince(this.#clock, outage.since) / 1000);
    this.#logger.info("API server is reachable again", { server, outageSeconds: seconds });
  }
}

/** A server that stops first closes connections, even in the middle of a TLS handshake, and then refuses them: one reason. */
function reasonOf(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (["ECONNREFUSED", "ECONNRESET", "EPIPE"].includes(String(errnoOf(cause)))) return "stopped";
  return messageOf(error);
}
