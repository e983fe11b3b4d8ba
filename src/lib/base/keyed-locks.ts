import { abortable } from "./abort.ts";
import { abortError } from "./errors.ts";

/** Locks by key. Those who wait for a key get it in the order of their requests; holders of other keys do not wait. */
export class KeyedLocks {
  /** The callers that wait for each key that is held. */
  readonly #queues = new Map<string, (() => void)[]>();

  isHeld(key: string): boolean {
    return this.#queues.has(key);
  }

  /** Resolves when all keys are held, until the result is disposed of. Keys are acquired in one order, so that no two wait for each other. */
  async acquire(keys: Iterable<string>, signal?: AbortSignal): Promise<Disposable> {
    using held = new DisposableStack();
    for (const key of [...new Set(keys)].sort((a, b) => (a < b ? -1 : 1))) {
      await this.#acquire(key, signal);
      held.defer(() => this.#release(key));
    }
    return held.move();
  }

  async #acquire(key: string, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) throw abortError(signal.reason);
    const queue = this.#queues.get(key);
    if (!queue) return void this.#queues.set(key, []);
    await abortable(signal, (resolve) => {
      queue.push(resolve);
      // If it already has its turn, it is no longer in the queue, and nothing is removed.
      return () => {
        const place = queue.indexOf(resolve);
        if (place >= 0) queue.splice(place, 1);
      };
    });
  }

  #release(key: string): void {
    const next = this.#queues.get(key)?.shift();
    if (next) next();
    else this.#queues.delete(key);
  }
}
