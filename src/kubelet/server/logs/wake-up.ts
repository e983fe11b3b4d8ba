import type { Clock } from "../../../lib/base/clock.ts";
import { abortError } from "../../../lib/base/errors.ts";

/** A wake-up that is not missed: a signal without a waiter wakes the next waiter immediately. */
export class WakeUp {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #isNotified = false;
  #waiting: (() => void) | undefined;
  readonly #onAbort = () => this.#waiting?.();

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
    signal.addEventListener("abort", this.#onAbort);
  }

  notify(): void {
    this.#isNotified = true;
    this.#waiting?.();
  }

  reset(): void {
    this.#isNotified = false;
  }

  async wait(ms: number): Promise<"notified" | "timeout"> {
    if (!this.#isNotified && !this.#signal.aborted) {
      let cancel = () => {};
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
        cancel = this.#clock.after(ms, resolve);
      });
      cancel();
      this.#waiting = undefined;
    }
    if (this.#signal.aborted) throw abortError(this.#signal.reason);
    return this.#isNotified ? "notified" : "timeout";
  }

  close(): void {
    this.#signal.removeEventListener("abort", this.#onAbort);
  }
}
