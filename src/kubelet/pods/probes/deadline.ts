import { abortError } from "../../../lib/base/errors.ts";
import type { AttemptResult, ProbeLimits } from "./attempt-result.ts";

export interface Attempt {
  /** The first result wins; later ones are ignored. */
  finish(result: AttemptResult): void;
}

/**
 * Runs `start` until it finishes, times out (`onTimeout` returns the result then), or the signal is aborted (rejects).
 * Finally calls the function that `start` returned, to release sockets.
 */
export function withDeadline(
  { clock, timeoutMs, signal }: ProbeLimits,
  onTimeout: () => AttemptResult,
  start: (attempt: Attempt) => () => void,
): Promise<AttemptResult> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(abortError(signal.reason));
    let release: (() => void) | undefined;
    let ended = false;
    const settle = (done: () => void) => {
      if (ended) return;
      ended = true;
      cancelTimer();
      signal.removeEventListener("abort", onAbort);
      release?.();
      done();
    };
    const onAbort = () => settle(() => reject(abortError(signal.reason)));
    const cancelTimer = clock.after(timeoutMs, () => settle(() => resolve(onTimeout())));
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      release = start({ finish: (result) => settle(() => resolve(result)) });
    } catch (error) {
      settle(() => reject(error));
    }
    // It may have finished before it returned.
    if (ended) release?.();
  });
}
