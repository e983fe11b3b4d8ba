import { type Clock, msSince } from "../../lib/base/clock.ts";
import type { MonotonicTime } from "../../lib/base/time.ts";

/** Asks once for all that want to know at about the same time. A failure is told to those that waited, and not kept. */
export class Remembered<T> {
  readonly #clock: Clock;
  readonly #maxAgeMs: number;
  readonly #ask: () => Promise<T>;
  #last: { readonly at: MonotonicTime; readonly answer: Promise<T> } | undefined;

  constructor(clock: Clock, maxAgeMs: number, ask: () => Promise<T>) {
    this.#clock = clock;
    this.#maxAgeMs = maxAgeMs;
    this.#ask = ask;
  }

  get(): Promise<T> {
    if (this.#last && msSince(this.#clock, this.#last.at) < this.#maxAgeMs) return this.#last.answer;
    const at = this.#clock.monotonic();
    const answer = this.#ask();
    const entry = { at, answer };
    this.#last = entry;
    answer.catch(() => {
      if (this.#last === entry) this.#last = undefined;
    });
    return answer;
  }
}
