import { abortError } from "../../../lib/base/errors.ts";

/** One holder of each name at a time, in the order of their requests. Holders of other names do not wait. */
export class ResourceLocks {
  /** Resolves when the last holder in the queue of a name has released it. */
  readonly #tails = new Map<string, Promise<void>>();

  /** Resolves to the release of all of them. Names are acquired in one order, so that no two holders wait for each other. */
  async acquire(names: readonly string[], signal: AbortSignal): Promise<() => void> {
    const releases: (() => void)[] = [];
    const release = () => {
      for (const each of releases.splice(0)) each();
    };
    try {
      for (const name of [...new Set(names)].sort((a, b) => (a < b ? -1 : 1)))
        releases.push(await this.#acquire(name, signal));
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }

  async #acquire(name: string, signal: AbortSignal): Promise<() => void> {
    const before = this.#tails.get(name) ?? Promise.resolve();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const tail = before.then(() => released);
    this.#tails.set(name, tail);
    void tail.then(() => {
      if (this.#tails.get(name) === tail) this.#tails.delete(name);
    });
    try {
      await orAborted(before, signal);
    } catch (error) {
      // It keeps its place in the queue until those before it are done.
      release();
      throw error;
    }
    return release;
  }
}

/** Rejects with an AbortError as soon as the signal is aborted. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(abortError(signal.reason));
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
