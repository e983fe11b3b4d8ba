import type { Clock } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { runPeriodically } from "../../lib/base/run-periodically.ts";
import type { CertificatePair } from "./certificate-pair.ts";

export interface GuardOptions {
  readonly manager: { current(): CertificatePair | undefined; readonly serverHealthy: boolean };
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called once. The kubelet exits here, with status 1. */
  readonly onCertificateUnavailable: (reason: string) => void;
}

const checkIntervalMs = 10_000;
const exitAfterMs = 5 * 60_000;

/**
 * Decides when the agent should exit: there has been no valid client certificate for five minutes, and the API server
 * is available but issues none. A restart may find other credentials. An unavailable server is waited for.
 */
export class CertificateGuard implements Component {
  readonly name = "client-certificate-guard";
  readonly done: Promise<void>;
  readonly #o: GuardOptions;
  readonly #ended = Promise.withResolvers<void>();
  #withoutMs = 0;
  #logged = false;

  constructor(options: GuardOptions) {
    this.#o = options;
    this.done = this.#ended.promise;
  }

  async start(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#o;
    const onError = (error: unknown) =>
      logger.error("Failed to check client certificate expiry", { err: String(error) });
    void runPeriodically(async () => this.#check(), {
      clock,
      everyMs: checkIntervalMs,
      signal,
      onError,
    }).finally(this.#ended.resolve);
  }

  /** Checks are counted, not wall time: a clock jump must not end the agent. */
  #check(): void {
    const { manager, logger, onCertificateUnavailable } = this.#o;
    if (manager.current() !== undefined) {
      this.#withoutMs = 0;
      return;
    }
    this.#withoutMs += checkIntervalMs;
    if (this.#withoutMs <= exitAfterMs || this.#logged) return;
    if (manager.serverHealthy) {
      this.#logged = true;
      onCertificateUnavailable("No valid client certificate is found and the server is responsive");
      return;
    }
    logger.error(
      "No valid client certificate is found but the server is not responsive. A restart may be necessary to retrieve new initial credentials.",
    );
  }
}
