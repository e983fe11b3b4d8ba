import type { Clock } from "../../base/clock.ts";
import { abortError } from "../../base/errors.ts";

/** Waits for shared work: an abort ends only the wait. */
export function orAbort<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(abortError(signal.reason));
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    const forget = () => signal.removeEventListener("abort", onAbort);
    work.then(
      (value) => {
        forget();
        resolve(value);
      },
      (error: unknown) => {
        forget();
        reject(error);
      },
    );
  });
}

/** Runs work with a timeout; when it expires, the work is aborted and the result of `late` is thrown. */
export async function within<T>(
  options: { clock: Clock; ms: number; signal: AbortSignal | undefined; late: () => Error },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock, ms, signal, late } = options;
  if (signal?.aborted) throw abortError(signal.reason);
  const controller = new AbortController();
  let isLate = false;
  const cancel = clock.after(ms, () => {
    isLate = true;
    controller.abort();
  });
  const onAbort = () => controller.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    return await orAbort(work(controller.signal), controller.signal);
  } catch (error) {
    if (signal?.aborted) throw abortError(signal.reason);
    throw isLate ? late() : error;
  } finally {
    cancel();
    signal?.removeEventListener("abort", onAbort);
  }
}
