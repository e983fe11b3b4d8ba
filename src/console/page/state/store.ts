import { Listeners } from "../../../lib/base/listeners.ts";

/** A value with listeners. Listeners run when another value replaces it. */
export class Store<T> {
  #value: T;
  readonly #listeners = new Listeners();

  constructor(value: T) {
    this.#value = value;
  }

  get(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    this.#listeners.notify();
  }

  /** Returns the function that ends the subscription. */
  subscribe(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }
}
