import type { Clock } from "../../src/lib/base/clock.ts";

/** Time that passes so many times as fast: whoever waits for minutes waits for less than a second, beside real connections. */
export function hastyClock(times: number): Clock {
  const startedAt = Date.now();
  const from = performance.now();
  return {
    now: () => startedAt + (performance.now() - from) * times,
    after(ms, callback) {
      const timer = setTimeout(callback, ms / times);
      return () => clearTimeout(timer);
    },
  };
}
