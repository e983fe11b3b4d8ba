import type { Clock } from "./clock.ts";

interface Timer {
  at: number;
  order: number;
  callback: () => void;
}

/** A clock that moves only when a test says so. */
export class FakeClock implements Clock {
  #now: number;
  #order = 0;
  #timers = new Set<Timer>();

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#now = startMs;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    const timer: Timer = { at: this.#now + Math.max(0, ms), order: this.#order++, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  get pending(): number {
    return this.#timers.size;
  }

  /** Moves time forward, firing timers in order and letting promises settle between two of them. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    await settle();
    for (let next = this.#next(until); next; next = this.#next(until)) {
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
      await settle();
    }
    this.#now = until;
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

/** Lets everything that is ready to run, run. */
export async function settle(turns = 3): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
}
