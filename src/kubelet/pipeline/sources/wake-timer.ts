import { type Clock, msFromNow } from "../../../lib/base/clock.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";

/** Wakes one loop: at the earliest of the times that were asked for, or when it is aborted. */
export class WakeTimer {
  #clock: Clock;
  #due: MonotonicTime | undefined;
  #cancel: () => void = () => {};
  #rung: boolean = false as boolean;
  #wake: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ring within `ms`; an earlier request stands. */
  request(ms: number): void {
    const at = msFromNow(this.#clock, ms);
    if (this.#due !== undefined && this.#due <= at) return;
    this.#cancel();
    this.#due = at;
    this.#cancel = this.#clock.after(ms, () => this.#ring());
  }

  /** Resolves when it rings, or has rung since the last wait. Resolves at once when the signal is aborted. */
  async wait(signal: AbortSignal): Promise<void> {
    if (!this.#rung && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    this.#rung = false;
    if (signal.aborted) this.#cancel();
  }

  #ring(): void {
    this.#due = undefined;
    this.#rung = true;
    this.#wake();
  }
}
