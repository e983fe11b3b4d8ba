import { type MonotonicTime, msBetween, plusMs } from "./time.ts";
export interface BackoffLimits {
  initialMs: number;
  maxMs: number;
  /** After this long without a failure the next one counts as the first again. */
  resetMs: number;
}

/** Doubling delays by key: how long to wait after a failure, depending on how many came before. */
export class Backoff {
  readonly #limits: BackoffLimits;
  #entries = new Map<string, { delayMs: number; failedAt: MonotonicTime }>();

  constructor(limits: BackoffLimits) {
    this.#limits = limits;
  }

  /** Notes a failure and returns how long to wait from `at` on. */
  failed(key: string, at: MonotonicTime): number {
    const { initialMs, maxMs, resetMs } = this.#limits;
    const last = this.#entries.get(key);
    const again = last && msBetween(last.failedAt, at) < resetMs + last.delayMs;
    const delayMs = again ? Math.min(last.delayMs * 2, maxMs) : initialMs;
    this.#entries.set(key, { delayMs, failedAt: at });
    return delayMs;
  }

  /** When the key may be tried again, if a failure was noted. */
  readyAt(key: string): MonotonicTime | undefined {
    const entry = this.#entries.get(key);
    return entry && plusMs(entry.failedAt, entry.delayMs);
  }

  succeeded(key: string): void {
    this.#entries.delete(key);
  }

  /** Forgets every key that begins so. */
  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }
}
