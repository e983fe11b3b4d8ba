import { type Clock, msFromNow } from "../../../lib/base/clock.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";

/** Wakes one loop: at the earliest requested time, or when it is aborted. */
export class WakeTimer {
  #clock: Clock;
  #due: MonotonicTime | undefined;
  #cancel: () => void = () => {};
  #fired: boolean = false as boolean;
  #wake: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Wakes the loop within `ms`; an earlier request is kept. */
  request(ms: number): void {
    const at = msFromNow(this.#clock, ms);
    if (this.#due !== undefined && this.#due <= at) return;
    this.#cancel();
    this.#due = at;
    this.#cancel = this.#clock.after(ms, () => this.#fire());
  }

  /** Resolves when the timer fires, or has fired since the last wait, or when the signal is aborted. */
  async wait(signal: AbortSignal): Promise<void> {
    if (!this.#fired && !signal.aborted) {
      const woken = Promise.withResolvers<void>();
      this.#wake = woken.resolve;
      signal.addEventListener("abort", this.#wake, { once: true });
      await woken.promise;
      signal.removeEventListener("abort", this.#wake);
    }
    this.#fired = false;
    if (signal.aborted) this.#cancel();
  }

  #fire(): void {
    this.#due = undefined;
    this.#fired = true;
    this.#wake();
  }
}
