/** One piece of work at a time for each key; for different keys side by side. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const turn = before.then(work, work);
    const kept = turn
      .catch(() => {})
      .then(() => {
        if (this.#last.get(key) === kept) this.#last.delete(key);
      });
    this.#last.set(key, kept);
    return turn;
  }
}
