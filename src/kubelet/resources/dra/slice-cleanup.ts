import { type Clock, sleep } from "../../../lib/base/clock.ts";
import { httpStatusOf, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { ResourceApi } from "./resource-api.ts";

/** How long a driver may be gone: a restart of its container must not delete its slices. */
const graceMs = 30_000;
const initialRetryMs = 1_000;
const maxRetryMs = 300_000;

export interface SliceCleanupOptions {
  readonly api: Pick<ResourceApi, "deleteSlices">;
  /** Has the Node once it is registered: before that, the credentials of the node may be rejected. */
  readonly view: { node(): unknown };
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Deletes the ResourceSlices of drivers that are gone, so that no pod is scheduled here for their devices. When the agent starts, it deletes
 * the slices of all drivers, as each driver publishes its own again; later, the slices of a driver that has been gone for 30 s.
 */
export class SliceCleanup {
  readonly #o: SliceCleanupOptions;
  readonly #pending = new Map<string, AbortController>();
  readonly #running = new Set<Promise<void>>();
  #signal = AbortSignal.abort();

  constructor(options: SliceCleanupOptions) {
    this.#o = options;
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
    this.#run(this.#delete(undefined, signal));
  }

  /** Resolves when all deletions have finished. */
  async ended(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** A driver that remains unusable keeps its deadline. */
  usable(driver: string, isUsable: boolean): void {
    if (isUsable) {
      this.#pending.get(driver)?.abort();
      this.#pending.delete(driver);
    } else if (!this.#pending.has(driver) && !this.#signal.aborted) {
      const cancel = new AbortController();
      this.#pending.set(driver, cancel);
      this.#run(this.#deleteLater(driver, cancel));
    }
  }

  async #deleteLater(driver: string, cancel: AbortController): Promise<void> {
    const signal = AbortSignal.any([this.#signal, cancel.signal]);
    await sleep(this.#o.clock, graceMs, signal).catch(() => {});
    await this.#delete(driver, signal);
    if (this.#pending.get(driver) === cancel) this.#pending.delete(driver);
  }

  async #delete(driver: string | undefined, signal: AbortSignal): Promise<void> {
    const { clock, logger, api, view } = this.#o;
    for (let delayMs = initialRetryMs; !signal.aborted; delayMs = Math.min(delayMs * 2, maxRetryMs)) {
      if (view.node() !== undefined)
        try {
          await api.deleteSlices(driver, signal);
          return logger.debug(3, "Deleted ResourceSlices", { driver });
        } catch (error) {
          // An API server without the kind has no slices.
          if (httpStatusOf(error) === 404 || signal.aborted) return;
          logger.debug(3, "Failed to delete ResourceSlices, will retry", { driver, err: messageOf(error) });
        }
      await sleep(clock, delayMs, signal).catch(() => {});
    }
  }

  #run(work: Promise<void>): void {
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
  }
}
