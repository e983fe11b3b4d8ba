import { abortError } from "../../lib/base/errors.ts";

/** Who wants to hear of something that happens now and then. */
export class Listeners<T> {
  readonly #all = new Set<(value: T) => void>();

  add(listener: (value: T) => void): () => void {
    this.#all.add(listener);
    return () => this.#all.delete(listener);
  }

  tell(value: T): void {
    for (const listener of [...this.#all]) listener(value);
  }

  /** The next thing that is told. */
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
