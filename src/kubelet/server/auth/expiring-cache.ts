import { type Clock, msFromNow } from "../../../lib/base/clock.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";

interface Kept<V> {
  readonly value: V;
  readonly until: MonotonicTime;
}

/** Caches results for as long as each of them is valid. Concurrent callers of the same key share one request. */
export class ExpiringCache<V> {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #kept = new Map<string, Kept<V>>();
  readonly #pending = new Map<string, Promise<V>>();

  constructor(clock: Clock, max = 4096) {
    this.#clock = clock;
    this.#max = max;
  }

  /** Failures are not cached. */
  async get(key: string, fetch: () => Promise<V>, ttlMs: (value: V) => number): Promise<V> {
    const kept = this.#kept.get(key);
    if (kept && this.#clock.monotonic() < kept.until) return kept.value;
    return this.#pending.get(key) ?? this.#fetch(key, fetch, ttlMs);
  }

  #fetch(key: string, fetch: () => Promise<V>, ttlMs: (value: V) => number): Promise<V> {
    const pending = Promise.resolve()
      .then(fetch)
      .then((value) => {
        this.#keep(key, value, ttlMs(value));
        return value;
      })
      .finally(() => this.#pending.delete(key));
    this.#pending.set(key, pending);
    return pending;
  }

  #keep(key: string, value: V, ttlMs: number): void {
    this.#kept.delete(key);
    if (ttlMs <= 0) return;
    // The oldest are evicted first: a flood of invalid tokens does not exhaust memory.
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size < this.#max) break;
      this.#kept.delete(oldest);
    }
    this.#kept.set(key, { value, until: msFromNow(this.#clock, ttlMs) });
  }
}
