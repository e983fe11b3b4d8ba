import type { Clock } from "../../lib/base/clock.ts";
import { abortError } from "../../lib/base/errors.ts";
import { markReported } from "../../lib/base/failure-log.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { TransportError } from "../../lib/clients/kube/api-error.ts";

/** The owner of the node's client certificate. */
export interface CertificateHolder {
  /** Undefined if there is none, or only one that has expired. */
  current(): unknown;
  /** Called with each certificate that becomes available, loaded or issued. */
  onChange(listener: () => void): () => void;
  /** Why there is none, as far as that is known. */
  readonly reason?: string | undefined;
}

export interface CertificateGateOptions {
  readonly holder: CertificateHolder;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A request fails after waiting this long; its caller decides whether to try again. */
const waitAtMostMs = 60_000;
const logAfterMs = 3_000;
/** A holder may have a certificate again without an event: the clock was set back, and it is not expired any more. */
const checkEveryMs = 1_000;

/**
 * Requests wait here for a client certificate: without one they could only be rejected. A wait has a deadline, is logged when
 * it takes longer than a few seconds, and ends when the agent stops.
 */
export class CertificateGate {
  readonly #o: CertificateGateOptions;
  readonly #waiting = new Set<(failure?: Error) => void>();
  readonly #onOpen = new Set<() => void>();
  /** How long nothing could be sent; undefined while requests pass. Counted, because the clock may be set meanwhile. */
  #waitedMs: number | undefined;
  #logged = false;
  #stop = () => {};
  #closed = false;

  constructor(options: CertificateGateOptions) {
    this.#o = options;
  }

  /** Resolves when there is a certificate. Rejects after a minute, and immediately when the gate is closed. */
  pass(signal: AbortSignal | undefined): Promise<void> {
    const { holder, clock } = this.#o;
    if (holder.current() !== undefined) return Promise.resolve();
    if (this.#closed) return Promise.reject(abortError());
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(abortError(signal.reason));
      const end = (failure?: Error) => {
        cancel();
        signal?.removeEventListener("abort", onAbort);
        this.#waiting.delete(end);
        if (failure) reject(failure);
        else resolve();
      };
      const onAbort = () => end(abortError(signal?.reason));
      const cancel = clock.after(waitAtMostMs, () => end(this.#timeoutError()));
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#waiting.add(end);
      this.#watch();
    });
  }

  /** For health checks: undefined while there is a certificate. */
  get waiting(): string | undefined {
    const { holder } = this.#o;
    if (holder.current() !== undefined || this.#waitedMs === undefined) return undefined;
    const seconds = Math.round(this.#waitedMs / 1000);
    const reason = holder.reason ? `: ${holder.reason}` : "";
    return `no valid client certificate for ${seconds}s, ${this.#waiting.size} requests are waiting${reason}`;
  }

  /** Called when requests need not wait any longer. */
  onOpen(listener: () => void): () => void {
    this.#onOpen.add(listener);
    return () => this.#onOpen.delete(listener);
  }

  /** Ends all waits: the agent stops. */
  close(): void {
    this.#closed = true;
    this.#end();
    for (const end of [...this.#waiting]) end(abortError());
  }

  /** Watches the holder until it has a certificate, even when no request waits any more: `onOpen` listeners remain. */
  #watch(): void {
    if (this.#waitedMs !== undefined) return;
    const { holder, clock } = this.#o;
    this.#waitedMs = 0;
    let cancel = () => {};
    const check = () => {
      this.#waitedMs = (this.#waitedMs ?? 0) + checkEveryMs;
      if (holder.current() !== undefined) return this.#open();
      this.#log();
      cancel = clock.after(checkEveryMs, check);
    };
    cancel = clock.after(checkEveryMs, check);
    const stopListening = holder.onChange(() => {
      if (holder.current() !== undefined) this.#open();
    });
    this.#stop = () => {
      cancel();
      stopListening();
    };
  }

  #open(): void {
    if (this.#logged) this.#o.logger.info("Client certificate is available", { waitedMs: this.#waitedMs });
    this.#end();
    for (const end of [...this.#waiting]) end();
    for (const listener of [...this.#onOpen]) listener();
  }

  #end(): void {
    this.#stop();
    this.#stop = () => {};
    this.#waitedMs = undefined;
    this.#logged = false;
  }

  #log(): void {
    const { logger, holder } = this.#o;
    if (this.#logged || (this.#waitedMs ?? 0) < logAfterMs) return;
    this.#logged = true;
    const reason = holder.reason;
    logger.info("Waiting for a client certificate, requests to the API server are held back", {
      requests: this.#waiting.size,
      ...(reason && { reason }),
    });
  }

  #timeoutError(): TransportError {
    const reason = this.#o.holder.reason;
    const seconds = waitAtMostMs / 1000;
    return markReported(
      new TransportError(`no valid client certificate within ${seconds} s${reason ? `: ${reason}` : ""}`),
    );
  }
}
