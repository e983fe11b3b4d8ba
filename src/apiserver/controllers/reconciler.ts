import { type Clock, sleep } from "../../lib/base/clock.ts";
import { type Component, type Health, healthy } from "../../lib/base/component.ts";
import { isAbort, messageOf } from "../../lib/base/errors.ts";
import type { Logger } from "../../lib/base/logger.ts";
import { WakeUp } from "../../lib/base/wait.ts";
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
  readonly #changed = new WakeUp();
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
      if (watches.includes(resource)) this.#changed.notify();
    }, signal);
    void this.#run(signal).then(() => this.#done.resolve());
    return Promise.resolve();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, batchMs = defaultBatchMs } = this.#options;
    while (!signal.aborted) {
      this.#changed.reset();
      const again = await this.#round(signal);
      const isChanged = await this.#changed.wait(clock, again, signal);
      if (isChanged && batchMs > 0) await sleep(clock, batchMs, signal).catch(() => {});
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
}
