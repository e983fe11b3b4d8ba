import { abortable } from "../../lib/base/abort.ts";
import type { Clock } from "../../lib/base/clock.ts";
import { abortError } from "../../lib/base/errors.ts";
import { markReported } from "../../lib/base/failure-log.ts";
import { Listeners } from "../../lib/base/listeners.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { TransportError } from "../../lib/clients/kube/api-error.ts";

/** Provides the node's client certificate. */
export interface CertificateSource {
  /** Undefined if there is none, or only one that has expired. */
  current(): unknown;
  /** Called with each certificate that becomes available, loaded or issued. */
  onChange(listener: () => void): () => void;
  /** Why there is none, if known. */
  readonly reason?: string | undefined;
}

export interface CertificateReadinessOptions {
  readonly source: CertificateSource;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A request fails after waiting this long; its caller decides whether to try again. */
const waitAtMostMs = 60_000;
const logAfterMs = 3_000;
/** A source may have a certificate again without an event: when the clock is set back, it is no longer expired. */
const checkEveryMs = 1_000;

/**
 * Lets requests wait for a client certificate: the API server would reject them without one. A wait has a deadline, is logged
 * if it takes longer than a few seconds, and ends when the agent stops.
 */
export class CertificateReadiness {
  readonly #o: CertificateReadinessOptions;
  readonly #waiting = new Listeners<[failure?: Error]>();
  readonly #onReady = new Listeners();
  /** How long the certificate has been missing; undefined while there is one. Counted, because the clock may be set in the meantime. */
  #waitedMs: number | undefined;
  #logged = false;
  #stop = () => {};
  #closed = false;

  constructor(options: CertificateReadinessOptions) {
    this.#o = options;
  }

  /** Resolves when there is a certificate. Rejects after a minute, and immediately after `close`. */
  wait(signal: AbortSignal | undefined): Promise<void> {
    const { source, clock } = this.#o;
    if (source.current() !== undefined) return Promise.resolve();
    if (this.#closed) return Promise.reject(abortError());
    return abortable(signal, (resolve, reject) => {
      const end = (failure?: Error) => (failure ? reject(failure) : resolve());
      const cancel = clock.after(waitAtMostMs, () => reject(this.#timeoutError()));
      const remove = this.#waiting.add(end);
      this.#watch();
      return () => {
        cancel();
        remove();
      };
    });
  }

  /** For health checks: undefined while there is a certificate. */
  get waiting(): string | undefined {
    const { source } = this.#o;
    if (source.current() !== undefined || this.#waitedMs === undefined) return undefined;
    const seconds = Math.round(this.#waitedMs / 1000);
    const reason = source.reason ? `: ${source.reason}` : "";
    return `no valid client certificate for ${seconds}s, ${this.#waiting.size} requests are waiting${reason}`;
  }

  /** Called when requests need not wait any longer. */
  onReady(listener: () => void): () => void {
    return this.#onReady.add(listener);
  }

  /** Ends all waits: the agent stops. */
  close(): void {
    this.#closed = true;
    this.#end();
    this.#waiting.notify(abortError());
  }

  /** Watches the source until it has a certificate, even if no request is waiting: `onReady` listeners remain. */
  #watch(): void {
    if (this.#waitedMs !== undefined) return;
    const { source, clock } = this.#o;
    this.#waitedMs = 0;
    let cancel = () => {};
    const check = () => {
      this.#waitedMs = (this.#waitedMs ?? 0) + checkEveryMs;
      if (source.current() !== undefined) return this.#ready();
      this.#log();
      cancel = clock.after(checkEveryMs, check);
    };
    cancel = clock.after(checkEveryMs, check);
    const stopListening = source.onChange(() => {
      if (source.current() !== undefined) this.#ready();
    });
    this.#stop = () => {
      cancel();
      stopListening();
    };
  }

  #ready(): void {
    if (this.#logged) this.#o.logger.info("Client certificate is available", { waitedMs: this.#waitedMs });
    this.#end();
    this.#waiting.notify();
    this.#onReady.notify();
  }

  #end(): void {
    this.#stop();
    this.#stop = () => {};
    this.#waitedMs = undefined;
    this.#logged = false;
  }

  #log(): void {
    const { logger, source } = this.#o;
    if (this.#logged || (this.#waitedMs ?? 0) < logAfterMs) return;
    this.#logged = true;
    const reason = source.reason;
    logger.info("Waiting for a client certificate before sending requests to the API server", {
      requests: this.#waiting.size,
      ...(reason && { reason }),
    });
  }

  #timeoutError(): TransportError {
    const reason = this.#o.source.reason;
    const seconds = waitAtMostMs / 1000;
    return markReported(
      new TransportError(`no valid client certificate within ${seconds} s${reason ? `: ${reason}` : ""}`),
    );
  }
}
