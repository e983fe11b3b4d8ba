import type { Clock } from "./clock.ts";
import { type MonotonicTime, plusMs, timeOf, type WallTime, wallTime } from "./time.ts";

interface Timer {
  at: number;
  order: number;
  callback: () => void;
}

/** A point in monotonic time that a test chooses. */
export function monotonicTime(ms: number): MonotonicTime {
  return timeOf(ms);
}

/** The start of the monotonic time, which is neither zero nor near the wall time of any test. */
const origin = monotonicTime(5_000_000);

/** A clock that moves only when a test advances it. */
export class FakeClock implements Clock {
  #wallOrigin: WallTime;
  #elapsedMs = 0;
  #order = 0;
  #timers = new Set<Timer>();

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#wallOrigin = wallTime(startMs);
  }

  wall(): WallTime {
    return plusMs(this.#wallOrigin, this.#elapsedMs);
  }

  monotonic(): MonotonicTime {
    return plusMs(origin, this.#elapsedMs);
  }

  /** Monotonic time since the clock was created. */
  get elapsedMs(): number {
    return this.#elapsedMs;
  }

  after(ms: number, callback: () => void): () => void {
    const timer: Timer = { at: this.#elapsedMs + Math.max(0, ms), order: this.#order++, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  get pending(): number {
    return this.#timers.size;
  }

  /** The wall clock is set, forward or back. Monotonic time and timers do not move. */
  jump(ms: number): void {
    this.#wallOrigin = plusMs(this.#wallOrigin, ms);
  }

  /** The machine is suspended: on resume the wall clock is ahead, monotonic time and timers have not moved. */
  suspend(ms: number): void {
    this.jump(ms);
  }

  /** Moves time forward, firing timers in order and letting promises settle between two of them. */
  async advance(ms: number): Promise<void> {
    const until = this.#elapsedMs + ms;
    await settle();
    for (let next = this.#next(until); next; next = this.#next(until)) {
      this.#timers.delete(next);
      this.#elapsedMs = Math.max(this.#elapsedMs, next.at);
      next.callback();
      await settle();
    }
    this.#elapsedMs = until;
  }

  #next(until: number): Timer | undefined {
    let best: Timer | undefined;
    for (const t of this.#timers) {
      if (t.at > until) continue;
      if (!best || t.at < best.at || (t.at === best.at && t.order < best.order)) best = t;
    }
    return best;
  }
}

/** Lets pending promises and callbacks run. */
export async function settle(turns = 3): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
}
