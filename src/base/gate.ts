import type { Clock } from "./clock.ts";
import { abortError } from "./errors.ts";

interface Waiter {
  priority: number;
  order: number;
  admit: () => void;
}

export interface Patience {
  clock: Clock;
  /** Work that takes longer waits for something else than its share of the machine: its place goes to the next. */
  longestMs: number;
}

/** Lets at most `width` pieces of work run at once; the most important waits least, then the oldest. */
export class ConcurrencyGate {
  readonly #width: number;
  readonly #patience: Patience | undefined;
  #running = 0;
  #order = 0;
  #waiting: Waiter[] = [];

  constructor(width: number, patience?: Patience) {
    if (!(width >= 1)) throw new RangeError(`a gate of width ${width} lets nothing through`);
    this.#width = width;
    this.#patience = patience;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Runs the work when there is room for it. Higher priority goes first. */
  async run<T>(
    work: () => Promise<T>,
    options: { priority?: number; signal?: AbortSignal } = {},
  ): Promise<T> {
    await this.#enter(options.priority ?? 0, options.signal);
    let inside = true;
    const leave = () => {
      if (inside) this.#leave();
      inside = false;
    };
    const cancel = this.#patience?.clock.after(this.#patience.longestMs, leave);
    try {
      return await work();
    } finally {
      cancel?.();
      leave();
    }
  }

  #enter(priority: number, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) return Promise.reject(abortError(signal.reason));
    if (this.#running < this.#width) {
      this.#running++;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(abortError(signal?.reason));
      };
      const waiter: Waiter = {
        priority,
        order: this.#order++,
        admit: () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#waiting.push(waiter);
    });
  }

  #leave(): void {
    const next = this.#waiting.reduce<Waiter | undefined>(
      (best, w) =>
        !best || w.priority > best.priority || (w.priority === best.priority && w.order < best.order)
          ? w
          : best,
      undefined,
    );
    if (!next) {
      this.#running--;
      return;
    }
    // The place passes straight to the next one, so nobody can slip in between.
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    next.admit();
  }
}
