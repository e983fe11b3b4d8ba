import type { Clock } from "../../lib/base/clock.ts";
import { type Component, type Health, healthy } from "../../lib/base/component.ts";
import { isAbort, messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import type { ObjectCache } from "./object-cache.ts";

export interface ReconcilerOptions {
  readonly name: string;
  readonly cache: ObjectCache;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A change of one of these resources triggers a reconciliation. */
  readonly watches: readonly string[];
  /** Changes within this time are handled by one reconciliation. */
  readonly batchMs?: number;
  /** Reconciles the current state. Returns the milliseconds until the next reconciliation, if any. */
  readonly reconcile: (signal: AbortSignal) => Promise<number | undefined>;
}

const firstRetryMs = 500;
const maxRetryMs = 30_000;
const defaultBatchMs = 20;

/** Reconciles after changes, one reconciliation at a time. A failed one is retried with back-off. */
export class Reconciler implements Component {
  readonly name: string;
  readonly #options: ReconcilerOptions;
  readonly #done = Promise.withResolvers<void>();
  #dirty = true;
  #wake = () => {};
  #failures = 0;
  #failure = "";

  constructor(options: ReconcilerOptions) {
    this.name = options.name;
    this.#options = options;
  }

  get done(): Promise<void> {
    return this.#done.promise;
  }

  health(): Health {
    return this.#failures < 3 ? healthy : { ok: false, reason: `${this.name}: ${this.#failure}` };
  }

  start(signal: AbortSignal): Promise<void> {
    const { cache, watches } = this.#options;
    cache.subscribe((resource) => {
      if (!watches.includes(resource)) return;
      this.#dirty = true;
      this.#wake();
    }, signal);
    void this.#run(signal).then(() => this.#done.resolve());
    return Promise.resolve();
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#dirty = false;
      const again = await this.#round(signal);
      if (signal.aborted) return;
      if (!this.#dirty) await this.#wait(again, signal);
      const batchMs = this.#options.batchMs ?? defaultBatchMs;
      if (this.#dirty && batchMs > 0) await this.#pause(batchMs, signal);
    }
  }

  async #round(signal: AbortSignal): Promise<number | undefined> {
    const { logger, reconcile } = this.#options;
    try {
      const again = await reconcile(signal);
      this.#failures = 0;
      return again;
    } catch (error) {
      if (signal.aborted || isAbort(error)) return undefined;
      this.#failure = messageOf(error);
      logger.warn("Failed to reconcile, will retry", { controller: this.name, err: this.#failure });
      return Math.min(maxRetryMs, firstRetryMs * 2 ** this.#failures++);
    }
  }

  /** Waits for a change or the timer. */
  #wait(ms: number | undefined, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const cancel = ms === undefined ? () => {} : this.#options.clock.after(ms, () => finish());
      const finish = () => {
        cancel();
        signal.removeEventListener("abort", finish);
        this.#wake = () => {};
        resolve();
      };
      this.#wake = finish;
      signal.addEventListener("abort", finish);
    });
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        cancel();
        signal.removeEventListener("abort", finish);
        resolve();
      };
      const cancel = this.#options.clock.after(ms, finish);
      signal.addEventListener("abort", finish);
    });
  }
}
