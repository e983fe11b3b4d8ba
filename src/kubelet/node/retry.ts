import { type Clock, sleep } from "../../lib/base/clock.ts";

/** Heartbeats are tried so many times at once before they wait for their next turn. */
export const attempts = 5;

/** An API server that comes back is not kept waiting longer than this for what it missed. */
export const longestRetryMs = 4_000;

const firstRetryMs = 100;

/** Does the work until it succeeds, waiting longer and longer in between. Rejects only when the signal is aborted. */
export async function retryUntilDone<T>(
  work: () => Promise<T>,
  options: { clock: Clock; signal: AbortSignal; onError: (error: unknown, retryMs: number) => void },
): Promise<T> {
  const { clock, signal, onError } = options;
  for (let waitMs = firstRetryMs; ; waitMs = Math.min(waitMs * 2, longestRetryMs)) {
    signal.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      if (signal.aborted) throw error;
      onError(error, waitMs);
    }
    await sleep(clock, waitMs, signal);
  }
}

/** A period that many nodes do not keep in step: up to 4 % longer. */
export function jittered(ms: number, random: () => number): number {
  return ms * (1 + 0.04 * random());
}
