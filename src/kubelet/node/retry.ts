import { type Clock, sleep } from "../../lib/base/clock.ts";

/** Attempts of one heartbeat before the next period. */
export const attempts = 5;

/** The longest delay of an update after the API server is back. */
export const longestRetryMs = 4_000;

const firstRetryMs = 100;

/** Retries the work with back-off until it succeeds. Rejects only when the signal is aborted. */
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

/** A period with jitter: up to 4 % longer. */
export function jittered(ms: number, random: () => number): number {
  return ms * (1 + 0.04 * random());
}
