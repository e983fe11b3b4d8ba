import { abortError } from "../../../lib/base/errors.ts";
import type { ProbeAnswer, ProbeLimits } from "./probe-answer.ts";

export interface Attempt {
  /** The first answer counts; later ones are ignored. */
  finish(answer: ProbeAnswer): void;
}

/**
 * Runs `begin` until it finishes, time is up (`late` says what that means then), or the signal is aborted (rejects).
 * Whatever `begin` returns is called at the end, to let go of sockets.
 */
export function withDeadline(
  { clock, timeoutMs, signal }: ProbeLimits,
  late: () => ProbeAnswer,
  begin: (attempt: Attempt) => () => void,
): Promise<ProbeAnswer> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(abortError(signal.reason));
    let release: (() => void) | undefined;
    let ended = false;
    const end = (tell: () => void) => {
      if (ended) return;
      ended = true;
      cancelTimer();
      signal.removeEventListener("abort", onAbort);
      release?.();
      tell();
    };
    const onAbort = () => end(() => reject(abortError(signal.reason)));
    const cancelTimer = clock.after(timeoutMs, () => end(() => resolve(late())));
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      release = begin({ finish: (answer) => end(() => resolve(answer)) });
    } catch (error) {
      end(() => reject(error));
    }
    // It may have finished before it returned.
    if (ended) release?.();
  });
}
