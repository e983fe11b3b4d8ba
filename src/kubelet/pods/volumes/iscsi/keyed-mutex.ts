/** Serializes work per key; different keys run in parallel. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const previous = this.#last.get(key) ?? Promise.resolve();
    const result = previous.then(work, work);
    const settled = result
      .catch(() => {})
      .then(() => {
        if (this.#last.get(key) === settled) this.#last.delete(key);
      });
    this.#last.set(key, settled);
    return result;
  }
}
