import { abortError } from "./errors.ts";

/** The only way to ask for the time or to wait: tests give a FakeClock and run in simulated time. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls back once, after `ms`; the returned function cancels it. */
  after(ms: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    // What is due already, as a hook whose grace period has passed, is no reason for Node to warn.
    const timer = setTimeout(callback, Math.min(Math.max(ms, 0), 0x7fffffff));
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`; rejects with an AbortError as soon as the signal is aborted. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortError(signal.reason));
    const onAbort = () => {
      cancel();
      reject(abortError(signal?.reason));
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
