import type { Clock } from "../../src/lib/base/clock.ts";
import { monotonicTime } from "../../src/lib/base/fake-clock.ts";
import { type MonotonicTime, plusMs, type WallTime, wallTime } from "../../src/lib/base/time.ts";

interface Timer {
  at: number;
  callback: () => void;
}

/**
 * A clock for thousands of histories: timers of the same time fire together, and then everything that can run
 * gets a few ticks. The order depends only on the program, so a history can be repeated.
 */
export class SimulatedClock implements Clock {
  #wallOrigin = wallTime(Date.UTC(2026, 0, 1));
  #elapsedMs = 0;
  /** The timers in the order in which they fire. Timers of the same time are in the order in which they were set. */
  #timers: Timer[] = [];

  wall(): WallTime {
    return plusMs(this.#wallOrigin, this.#elapsedMs);
  }

  monotonic(): MonotonicTime {
    return monotonicTime(this.#elapsedMs);
  }

  /** Monotonic time since the clock was created. */
  get elapsedMs(): number {
    return this.#elapsedMs;
  }

  /** The wall clock is set, or the machine was suspended: timers do not move. */
  jump(ms: number): void {
    this.#wallOrigin = plusMs(this.#wallOrigin, ms);
  }

  get pending(): number {
    return this.#timers.length;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#elapsedMs + Math.max(0, ms), callback };
    let index = this.#timers.length;
    while (index > 0 && this.#timers[index - 1]!.at > timer.at) index--;
    this.#timers.splice(index, 0, timer);
    return () => {
      const index = this.#timers.indexOf(timer);
      if (index >= 0) this.#timers.splice(index, 1);
    };
  }

  async advance(ms: number): Promise<void> {
    const until = this.#elapsedMs + ms;
    await eventLoopTurns();
    for (;;) {
      const next = this.#timers[0];
      if (!next || next.at > until) break;
      this.#elapsedMs = Math.max(this.#elapsedMs, next.at);
      while (this.#timers[0] && this.#timers[0].at <= this.#elapsedMs) this.#timers.shift()!.callback();
      await eventLoopTurns();
    }
    this.#elapsedMs = until;
  }
}

/** A posted event is dispatched in the next tick, and takes effect in the tick after it. */
export async function eventLoopTurns(count = 2): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}
