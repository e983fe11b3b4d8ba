import { abortError } from "../../lib/base/errors.ts";

/** Listeners of an occasional event. */
export class Listeners<T> {
  readonly #all = new Set<(value: T) => void>();

  add(listener: (value: T) => void): () => void {
    this.#all.add(listener);
    return () => this.#all.delete(listener);
  }

  notify(value: T): void {
    for (const listener of [...this.#all]) listener(value);
  }

  /** The next value. */
  next(signal: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(abortError(signal.reason));
      const onAbort = () => {
        remove();
        reject(abortError(signal.reason));
      };
      const remove = this.add((value) => {
        remove();
        signal.removeEventListener("abort", onAbort);
        resolve(value);
      });
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}
