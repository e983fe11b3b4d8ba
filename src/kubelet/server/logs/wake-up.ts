import type { Clock } from "../../../lib/base/clock.ts";
import { abortError } from "../../../lib/base/errors.ts";

/** A wake-up that is not missed: a signal without a waiter wakes the next waiter immediately. */
export class WakeUp {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #rung = false;
  #waiting: (() => void) | undefined;
  readonly #onAbort = () => this.#waiting?.();

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
    signal.addEventListener("abort", this.#onAbort);
  }

  ring(): void {
    this.#rung = true;
    this.#waiting?.();
  }

  reset(): void {
    this.#rung = false;
  }

  async wait(ms: number): Promise<"rung" | "time"> {
    if (!this.#rung && !this.#signal.aborted) {
      let cancel = () => {};
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
        cancel = this.#clock.after(ms, resolve);
      });
      cancel();
      this.#waiting = undefined;
    }
    if (this.#signal.aborted) throw abortError(this.#signal.reason);
    return this.#rung ? "rung" : "time";
  }

  close(): void {
    this.#signal.removeEventListener("abort", this.#onAbort);
  }
}
