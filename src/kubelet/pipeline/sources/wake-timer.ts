import { type Clock, msFromNow } from "../../../lib/base/clock.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";
import { WakeUp } from "../../../lib/base/wait.ts";

/** Wakes one loop: at the earliest requested time, or when it is aborted. */
export class WakeTimer {
  #clock: Clock;
  #due: MonotonicTime | undefined;
  #cancel: () => void = () => {};
  readonly #wake = new WakeUp();

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
    await this.#wake.wait(this.#clock, undefined, signal);
    if (signal.aborted) this.#cancel();
  }

  #fire(): void {
    this.#due = undefined;
    this.#wake.notify();
  }
}
