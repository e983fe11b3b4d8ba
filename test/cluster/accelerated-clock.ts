import type { Clock } from "../../src/lib/base/clock.ts";
import { monotonicTime } from "../../src/lib/base/fake-clock.ts";
import { wallTime } from "../../src/lib/base/time.ts";

/** A clock that runs faster by this factor: a wait of minutes takes less than a second, with real connections. */
export function acceleratedClock(times: number): Clock {
  const startedAt = Date.now();
  const from = performance.now();
  const elapsedMs = () => (performance.now() - from) * times;
  return {
    wall: () => wallTime(startedAt + elapsedMs()),
    monotonic: () => monotonicTime(elapsedMs()),
    after(ms, callback) {
      const timer = setTimeout(callback, ms / times);
      return () => clearTimeout(timer);
    },
  };
}
