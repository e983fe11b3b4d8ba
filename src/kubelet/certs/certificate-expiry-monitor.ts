import type { Clock } from "../../lib/base/clock.ts";
import type { Component } from "../../lib/base/component.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { runPeriodically } from "../../lib/base/run-periodically.ts";
import type { CertificatePair } from "./certificate-pair.ts";

export interface CertificateExpiryMonitorOptions {
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
 * is available but issues none. A restart may find other credentials. The agent waits for an unavailable server.
 */
export class CertificateExpiryMonitor implements Component {
  readonly name = "client-certificate-expiry";
  readonly done: Promise<void>;
  readonly #o: CertificateExpiryMonitorOptions;
  readonly #done = Promise.withResolvers<void>();
  #missingMs = 0;
  #logged = false;

  constructor(options: CertificateExpiryMonitorOptions) {
    this.#o = options;
    this.done = this.#done.promise;
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
    }).finally(this.#done.resolve);
  }

  /** Checks are counted, not wall time: a clock jump must not stop the agent. */
  #check(): void {
    const { manager, logger, onCertificateUnavailable } = this.#o;
    if (manager.current() !== undefined) {
      this.#missingMs = 0;
      return;
    }
    this.#missingMs += checkIntervalMs;
    if (this.#missingMs <= exitAfterMs || this.#logged) return;
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
