import { abortError } from "./errors.ts";

/**
 * Calls back once the signal is aborted, immediately if it already is: an aborted signal dispatches no event. Work that may
 * end before disposes of the result (`using`): a listener that stays on a signal that outlives the work is a leak.
 */
export function whenAborted(signal: AbortSignal | undefined, callback: () => void): Disposable {
  if (signal?.aborted) callback();
  else signal?.addEventListener("abort", callback, { once: true });
  return { [Symbol.dispose]: () => signal?.removeEventListener("abort", callback) };
}

/**
 * A promise that also rejects, with an AbortError, when the signal is aborted. `start` returns the function that releases
 * what it has acquired, which is called once, however the promise settles. An aborted signal starts nothing.
 */
export function abortable<T = void>(
  signal: AbortSignal | undefined,
  start: (resolve: (value: T) => void, reject: (error: unknown) => void) => (() => void) | undefined,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let release: (() => void) | undefined;
    let isSettled = false;
    const settle = (how: () => void) => {
      if (isSettled) return;
      isSettled = true;
      listener?.[Symbol.dispose]();
      release?.();
      how();
    };
    if (signal?.aborted) return reject(abortError(signal.reason));
    const listener = signal && whenAborted(signal, () => settle(() => reject(abortError(signal.reason))));
    try {
      release = start(
        (value) => settle(() => resolve(value)),
        (error) => settle(() => reject(error)),
      );
    } catch (error) {
      settle(() => reject(error));
    }
    // It may have settled before it returned.
    if (isSettled) release?.();
  });
}

/** Waits for shared work: an abort ends only the wait. */
export function orAbort<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  // After an abort no caller waits for its failure.
  work.catch(() => {});
  return abortable(signal, (resolve, reject) => void work.then(resolve, reject));
}
