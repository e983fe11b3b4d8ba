import { abortError } from "./errors.ts";

/** Locks by key, in the order of the requests. */
export class KeyedLocks {
  readonly #queues = new Map<string, (() => void)[]>();

  /** Resolves to the release. All callers get the keys in the same order, so none waits for another in a circle. */
  async acquire(keys: Iterable<string>, signal: AbortSignal): Promise<() => void> {
    const held: string[] = [];
    const release = () => {
      for (const key of held.splice(0)) this.#release(key);
    };
    try {
      for (const key of [...new Set(keys)].sort((a, b) => (a < b ? -1 : 1))) {
        await this.#one(key, signal);
        held.push(key);
      }
      return release;
    } catch (error) {
      release();
      throw error;
    }
  }

  #one(key: string, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(abortError(signal.reason));
    const queue = this.#queues.get(key);
    if (!queue) {
      this.#queues.set(key, []);
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const entered = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = () => {
        queue.splice(queue.indexOf(entered), 1);
        reject(abortError(signal.reason));
      };
      signal.addEventListener("abort", onAbort, { once: true });
      queue.push(entered);
    });
  }

  #release(key: string): void {
    const next = this.#queues.get(key)?.shift();
    if (next) next();
    else this.#queues.delete(key);
  }
}
