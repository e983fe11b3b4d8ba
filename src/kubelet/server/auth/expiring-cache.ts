import { type Clock, msFromNow } from "../../../lib/base/clock.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";

interface Entry<V> {
  readonly value: V;
  readonly until: MonotonicTime;
}

/** Caches results for as long as each of them is valid. Concurrent callers of the same key share one request. */
export class ExpiringCache<V> {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #entries = new Map<string, Entry<V>>();
  readonly #pending = new Map<string, Promise<V>>();

  constructor(clock: Clock, max = 4096) {
    this.#clock = clock;
    this.#max = max;
  }

  /** Failures are not cached. */
  async get(key: string, fetch: () => Promise<V>, ttlMs: (value: V) => number): Promise<V> {
    const entry = this.#entries.get(key);
    if (entry && this.#clock.monotonic() < entry.until) return entry.value;
    return this.#pending.get(key) ?? this.#fetch(key, fetch, ttlMs);
  }

  #fetch(key: string, fetch: () => Promise<V>, ttlMs: (value: V) => number): Promise<V> {
    const pending = Promise.resolve()
      .then(fetch)
      .then((value) => {
        this.#store(key, value, ttlMs(value));
        return value;
      })
      .finally(() => this.#pending.delete(key));
    this.#pending.set(key, pending);
    return pending;
  }

  #store(key: string, value: V, ttlMs: number): void {
    this.#entries.delete(key);
    if (ttlMs <= 0) return;
    // The oldest are evicted first: a flood of invalid tokens does not exhaust memory.
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size < this.#max) break;
      this.#entries.delete(oldest);
    }
    this.#entries.set(key, { value, until: msFromNow(this.#clock, ttlMs) });
  }
}
