import { abortable, orAbort, whenAborted } from "./abort.ts";
import type { Clock } from "./clock.ts";
import { abortError } from "./errors.ts";

/** Ends the waits of one loop. A wake-up is not missed: without a waiting loop it ends the next wait immediately. */
export class WakeUp {
  #isPending = false;
  #resume = () => {};

  notify(): void {
    this.#isPending = true;
    this.#resume();
  }

  /** Discards a wake-up that no wait has received. */
  reset(): void {
    this.#isPending = false;
  }

  /** Resolves when notified, after `ms` if it is defined, or when aborted: true if it was notified. Never rejects. */
  async wait(clock: Pick<Clock, "after">, ms: number | undefined, signal?: AbortSignal): Promise<boolean> {
    if (!this.#isPending)
      await abortable(signal, (resolve) => {
        this.#resume = resolve;
        return ms === undefined ? undefined : clock.after(ms, resolve);
      }).catch(() => {});
    this.#resume = () => {};
    const notified = this.#isPending;
    this.#isPending = false;
    return notified;
  }
}

/** Waits for the work, but no longer than `ms`: true if it has succeeded by then. Rejects if it fails, or when aborted. */
export function endsWithin(
  clock: Pick<Clock, "after">,
  ms: number,
  work: Promise<unknown>,
  signal?: AbortSignal,
): Promise<boolean> {
  // After the wait no caller waits for its failure.
  work.catch(() => {});
  return abortable(signal, (resolve, reject) => {
    work.then(() => resolve(true), reject);
    return clock.after(ms, () => resolve(false));
  });
}

/** Runs work with a timeout; when it expires, the work is aborted and the result of `timeoutError` is thrown. */
export async function within<T>(
  options: {
    clock: Pick<Clock, "after">;
    ms: number;
    signal: AbortSignal | undefined;
    timeoutError: () => Error;
  },
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
  using _ = whenAborted(signal, () => controller.abort(signal?.reason));
  try {
    return await orAbort(work(controller.signal), controller.signal);
  } catch (error) {
    if (signal?.aborted) throw abortError(signal.reason);
    throw timedOut ? timeoutError() : error;
  } finally {
    cancel();
  }
}
