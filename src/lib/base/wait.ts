import { abortable, orAbort, whenAborted } from "./abort.ts";
import type { Clock } from "./clock.ts";
import { abortError, KubeletError } from "./errors.ts";

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

/** A signal for work that may take `ms`: it is aborted then, or with the other signal. Its user disposes of it (`using`). */
export function deadline(
  clock: Pick<Clock, "after">,
  ms: number,
  signal?: AbortSignal,
): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const cancel = clock.after(ms, () =>
    controller.abort(new KubeletError("Timeout", `timed out after ${ms} ms`)),
  );
  const aborted = whenAborted(signal, () => controller.abort(signal?.reason));
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      cancel();
      aborted[Symbol.dispose]();
    },
  };
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
  using limit = deadline(clock, ms, signal);
  try {
    return await orAbort(work(limit.signal), limit.signal);
  } catch (error) {
    if (signal?.aborted) throw abortError(signal.reason);
    throw limit.signal.aborted ? timeoutError() : error;
  }
}
