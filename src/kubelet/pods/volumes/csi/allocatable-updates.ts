import { whenAborted } from "../../../../lib/base/abort.ts";
import type { Clock } from "../../../../lib/base/clock.ts";
import { messageOf } from "../../../../lib/base/errors.ts";
import type { Logger } from "../../../../lib/base/logger.ts";
import type { CsiDrivers } from "./csi-drivers.ts";
import type { CsiNodeInfo } from "./csi-node.ts";
import type { DriverStore } from "./driver-store.ts";

export interface AllocatableUpdatesOptions {
  readonly drivers: DriverStore;
  readonly objects: CsiDrivers;
  readonly node: CsiNodeInfo;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Updates the allocatable volume count of drivers, with the period of their CSIDriver object. */
export class AllocatableUpdates {
  readonly #o: AllocatableUpdatesOptions;
  readonly #timers = new Map<string, { readonly periodMs: number; readonly cancel: () => void }>();
  #signal = AbortSignal.abort();

  constructor(options: AllocatableUpdatesOptions) {
    this.#o = options;
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
    const stop = this.#o.objects.onChange((driver) => this.changed(driver));
    whenAborted(signal, () => {
      stop();
      for (const driver of this.#timers.keys()) this.#stop(driver);
    });
  }

  /** The driver was registered or deregistered, or its object has changed. */
  changed(driver: string): void {
    const { drivers, objects } = this.#o;
    const seconds = drivers.get(driver)
      ? objects.known(driver)?.nodeAllocatableUpdatePeriodSeconds
      : undefined;
    const periodMs = (seconds ?? 0) * 1000;
    if (this.#timers.get(driver)?.periodMs === periodMs) return;
    this.#stop(driver);
    if (periodMs > 0) this.#schedule(driver, periodMs);
  }

  /** Updates the count of the driver. Also called when an attach failed because the limit is reached: the reported count was wrong. */
  async refresh(driver: string, signal: AbortSignal): Promise<void> {
    const { drivers, node, logger } = this.#o;
    try {
      await node.update(driver, await drivers.client(driver).nodeInfo(signal), signal);
    } catch (error) {
      if (!signal.aborted)
        logger.warn("Failed to update CSI driver allocatable count", {
          driver,
          err: messageOf(error),
        });
    }
  }

  #schedule(driver: string, periodMs: number): void {
    if (this.#signal.aborted) return;
    const cancel = this.#o.clock.after(periodMs, () => {
      void this.refresh(driver, this.#signal).finally(() => {
        if (this.#timers.get(driver)?.cancel === cancel) this.#schedule(driver, periodMs);
      });
    });
    this.#timers.set(driver, { periodMs, cancel });
  }

  #stop(driver: string): void {
    this.#timers.get(driver)?.cancel();
    this.#timers.delete(driver);
  }
}
