import { abortable } from "./abort.ts";
import { type MonotonicTime, msBetween, plusMs, timeOf, type WallTime, wallTime } from "./time.ts";

/** The only way to read the time or to wait: tests pass a FakeClock and run in simulated time. */
export interface Clock {
  /** For display, storage and comparison with other machines, certificates and files. */
  wall(): WallTime;
  /** For waits, rates and durations. */
  monotonic(): MonotonicTime;
  /** Calls back once, after `ms` of monotonic time; the returned function cancels it. */
  after(ms: number, callback: () => void): () => void;
}

/** Node.js fires immediately if the delay is longer. */
const maxTimerMs = 0x7fffffff;

export const systemClock: Clock = {
  wall: () => wallTime(Date.now()),
  // CLOCK_MONOTONIC, as for the timers of Node.js: both stop while the machine is suspended.
  monotonic: () => timeOf(performance.now()),
  after(ms, callback) {
    let timer: NodeJS.Timeout;
    const wait = (leftMs: number) => {
      const more = leftMs > maxTimerMs;
      // Node.js warns about negative delays, for example of a hook whose grace period has passed.
      timer = more
        ? setTimeout(wait, maxTimerMs, leftMs - maxTimerMs)
        : setTimeout(callback, Math.max(leftMs, 0));
    };
    wait(ms);
    return () => clearTimeout(timer);
  },
};

/** Milliseconds of monotonic time since then. */
export function msSince(clock: Pick<Clock, "monotonic">, then: MonotonicTime): number {
  return msBetween(then, clock.monotonic());
}

/** Milliseconds of monotonic time until then; negative if it has passed. */
export function msUntil(clock: Pick<Clock, "monotonic">, then: MonotonicTime): number {
  return msBetween(clock.monotonic(), then);
}

/** The point in monotonic time `ms` from now. */
export function msFromNow(clock: Pick<Clock, "monotonic">, ms: number): MonotonicTime {
  return plusMs(clock.monotonic(), ms);
}

/**
 * The same moment in monotonic time, for an external or stored timestamp: as far back as the wall clock shows now, but
 * never in the future. Keep the result: another calculation returns another time if the wall clock was set.
 */
export function monotonicOf(clock: Pick<Clock, "wall" | "monotonic">, time: WallTime): MonotonicTime {
  return plusMs(clock.monotonic(), -Math.max(0, msBetween(time, clock.wall())));
}

/** The wall time of a point in monotonic time, for display; it is wrong if the clock was set in between. */
export function wallTimeOf(clock: Pick<Clock, "wall" | "monotonic">, time: MonotonicTime): WallTime {
  return plusMs(clock.wall(), msUntil(clock, time));
}

/** Resolves after `ms`; rejects with an AbortError as soon as the signal is aborted. */
export function sleep(clock: Pick<Clock, "after">, ms: number, signal?: AbortSignal): Promise<void> {
  return abortable(signal, (resolve) => clock.after(ms, resolve));
}
