import { type Clock, msSince } from "../../lib/base/clock.ts";
import type { MonotonicTime, WallTime } from "../../lib/base/time.ts";

/**
 * When an unchanged status is written. After a change the next such report is due at a random time
 * between 0.5 and 1.5 times the period, so that nodes that changed at the same time do not keep reporting at the same time.
 */
export class ReportSchedule {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #random: () => number;
  #last: { readonly at: MonotonicTime; readonly heartbeat: WallTime } | undefined;
  #shiftMs = 0;

  constructor(clock: Clock, everyMs: number, random: () => number) {
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#random = random;
  }

  isDue(): boolean {
    if (this.#last === undefined) return true;
    // A clock that was set back leaves heartbeats of the future in the API: they are replaced immediately.
    if (this.#clock.wall() < this.#last.heartbeat) return true;
    return msSince(this.#clock, this.#last.at) >= this.#everyMs + this.#shiftMs;
  }

  reported(changed: boolean): void {
    const shifts = changed || this.#last === undefined;
    this.#shiftMs = shifts ? this.#everyMs * (this.#random() - 0.5) : 0;
    this.#last = { at: this.#clock.monotonic(), heartbeat: this.#clock.wall() };
  }
}
