import { type Clock, sleep } from "./clock.ts";
import { isAbort } from "./errors.ts";

/**
 * Runs the work now and then again, each time `everyMs` after the end of the last run, until the signal is aborted. Errors
 * are passed to `onError` and do not end the loop. Never rejects.
 */
export async function runPeriodically(
  work: () => Promise<void>,
  options: { clock: Clock; everyMs: number; signal: AbortSignal; onError: (error: unknown) => void },
): Promise<void> {
  const { clock, everyMs, signal, onError } = options;
  while (!signal.aborted) {
    try {
      await work();
    } catch (error) {
      if (!signal.aborted || !isAbort(error)) onError(error);
    }
    await sleep(clock, everyMs, signal).catch(() => {});
  }
}
