import { abortable } from "../../../lib/base/abort.ts";
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
  return abortable(signal, (resolve) => {
    const release = start({ finish: resolve });
    const cancelTimer = clock.after(timeoutMs, () => resolve(onTimeout()));
    return () => {
      cancelTimer();
      release();
    };
  });
}
