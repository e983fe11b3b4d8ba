/** Listeners of an event. A listener may remove itself, or add others, while they are notified. */
export class Listeners<Arguments extends readonly unknown[] = []> {
  readonly #all = new Set<(...args: Arguments) => void>();

  get size(): number {
    return this.#all.size;
  }

  /** Returns the function that removes the listener. */
  add(listener: (...args: Arguments) => void): () => void {
    this.#all.add(listener);
    return () => void this.#all.delete(listener);
  }

  notify(...args: Arguments): void {
    for (const listener of [...this.#all]) listener(...args);
  }
}
