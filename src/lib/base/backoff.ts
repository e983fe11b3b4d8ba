import { type MonotonicTime, msBetween, plusMs } from "./time.ts";
export interface BackoffLimits {
  initialMs: number;
  maxMs: number;
  /** After this long without a failure the back-off is reset. */
  resetMs: number;
}

/** Exponential back-off by key. */
export class Backoff {
  readonly #limits: BackoffLimits;
  #entries = new Map<string, { delayMs: number; failedAt: MonotonicTime }>();

  constructor(limits: BackoffLimits) {
    this.#limits = limits;
  }

  /** Records a failure and returns how long to wait from `at` on. */
  failed(key: string, at: MonotonicTime): number {
    const { initialMs, maxMs, resetMs } = this.#limits;
    const last = this.#entries.get(key);
    const again = last && msBetween(last.failedAt, at) < resetMs + last.delayMs;
    const delayMs = again ? Math.min(last.delayMs * 2, maxMs) : initialMs;
    this.#entries.set(key, { delayMs, failedAt: at });
    return delayMs;
  }

  /** When the key may be retried, if a failure was recorded. */
  readyAt(key: string): MonotonicTime | undefined {
    const entry = this.#entries.get(key);
    return entry && plusMs(entry.failedAt, entry.delayMs);
  }

  succeeded(key: string): void {
    this.#entries.delete(key);
  }

  /** Drops every key with this prefix. */
  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }
}
