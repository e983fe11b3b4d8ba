import { type Clock, msSince } from "../../lib/base/clock.ts";
import type { MonotonicTime } from "../../lib/base/time.ts";

/** Caches a result; concurrent callers share one request. A failure is passed to the waiting callers, and not cached. */
export class CachedLoad<T> {
  readonly #clock: Clock;
  readonly #maxAgeMs: number;
  readonly #load: () => Promise<T>;
  #last: { readonly at: MonotonicTime; readonly result: Promise<T> } | undefined;

  constructor(clock: Clock, maxAgeMs: number, load: () => Promise<T>) {
    this.#clock = clock;
    this.#maxAgeMs = maxAgeMs;
    this.#load = load;
  }

  get(): Promise<T> {
    if (this.#last && msSince(this.#clock, this.#last.at) < this.#maxAgeMs) return this.#last.result;
    const at = this.#clock.monotonic();
    const result = this.#load();
    const entry = { at, result };
    this.#last = entry;
    result.catch(() => {
      if (this.#last === entry) this.#last = undefined;
    });
    return result;
  }
}
