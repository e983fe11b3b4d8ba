import type { Clock } from "../../base/clock.ts";
import { abortError } from "../../base/errors.ts";

/** Waits for shared work: an abort ends only the wait. */
export function orAbort<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(abortError(signal.reason));
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    const removeListener = () => signal.removeEventListener("abort", onAbort);
    work.then(
      (value) => {
        removeListener();
        resolve(value);
      },
      (error: unknown) => {
        removeListener();
        reject(error);
      },
    );
  });
}

/** Runs work with a timeout; when it expires, the work is aborted and the result of `timeoutError` is thrown. */
export async function within<T>(
  options: { clock: Clock; ms: number; signal: AbortSignal | undefined; timeoutError: () => Error },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock, ms, signal, timeoutError } = options;
  if (signal?.aborted) throw abortError(signal.reason);
  const controller = new AbortController();
  let timedOut = false;
  const cancel = clock.after(ms, () => {
    timedOut = true;
    controller.abort();
  });
  const onAbort = () => controller.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    return await orAbort(work(controller.signal), controller.signal);
  } catch (error) {
    if (signal?.aborted) throw abortError(signal.reason);
    throw timedOut ? timeoutError() : error;
  } finally {
    cancel();
    signal?.removeEventListener("abort", onAbort);
  }
}
