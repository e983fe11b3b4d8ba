import { type Clock, msSince } from "../../lib/base/clock.ts";
import type { MonotonicTime } from "../../lib/base/time.ts";

/** One request for all concurrent callers. A failure is passed to those that waited, and not kept. */
export class CachedLoad<T> {
  readonly #clock: Clock;
  readonly #maxAgeMs: number;
  readonly #load: () => Promise<T>;
  #last: { readonly at: MonotonicTime; readonly answer: Promise<T> } | undefined;

  constructor(clock: Clock, maxAgeMs: number, load: () => Promise<T>) {
    this.#clock = clock;
    this.#maxAgeMs = maxAgeMs;
    this.#load = load;
  }

  get(): Promise<T> {
    if (this.#last && msSince(this.#clock, this.#last.at) < this.#maxAgeMs) return this.#last.answer;
    const at = this.#clock.monotonic();
    const answer = this.#load();
    const entry = { at, answer };
    this.#last = entry;
    answer.catch(() => {
      if (this.#last === entry) this.#last = undefined;
    });
    return answer;
  }
}
