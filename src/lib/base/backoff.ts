export interface BackoffLimits {
  initialMs: number;
  maxMs: number;
  /** After this long without a failure the next one counts as the first again. */
  resetMs: number;
}

/** Doubling delays by key: how long to wait after a failure, depending on how many came before. */
export class Backoff {
  readonly #limits: BackoffLimits;
  #entries = new Map<string, { delayMs: number; failedAt: number }>();

  constructor(limits: BackoffLimits) {
    this.#limits = limits;
  }

  /** Notes a failure and returns how long to wait from `at` on. */
  failed(key: string, at: number): number {
    const { initialMs, maxMs, resetMs } = this.#limits;
    const last = this.#entries.get(key);
    const again = last && at - last.failedAt < resetMs + last.delayMs;
    const delayMs = again ? Math.min(last.delayMs * 2, maxMs) : initialMs;
    this.#entries.set(key, { delayMs, failedAt: at });
    return delayMs;
  }

  /** When the key may be tried again, if a failure was noted. A clock that was set back since ends the wait. */
  readyAt(key: string, now: number): number | undefined {
    const entry = this.#entries.get(key);
    return entry && now >= entry.failedAt ? entry.failedAt + entry.delayMs : undefined;
  }

  succeeded(key: string): void {
    this.#entries.delete(key);
  }

  /** Forgets every key that begins so. */
  forget(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.#entries.delete(key);
  }
}
