import type { Clock } from "../../lib/base/clock.ts";

/** Asks once for all that want to know at about the same time. A failure is told to those that waited, and not kept. */
export class Remembered<T> {
  readonly #clock: Clock;
  readonly #maxAgeMs: number;
  readonly #ask: () => Promise<T>;
  #last: { readonly at: number; readonly answer: Promise<T> } | undefined;

  constructor(clock: Clock, maxAgeMs: number, ask: () => Promise<T>) {
    this.#clock = clock;
    this.#maxAgeMs = maxAgeMs;
    this.#ask = ask;
  }

  get(): Promise<T> {
    const now = this.#clock.now();
    // A clock that was set back must not keep an answer for ever.
    if (this.#last && now >= this.#last.at && now - this.#last.at < this.#maxAgeMs) return this.#last.answer;
    const answer = this.#ask();
    const entry = { at: now, answer };
    this.#last = entry;
    answer.catch(() => {
      if (this.#last === entry) this.#last = undefined;
    });
    return answer;
  }
}
