import { type Clock, sleep } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { isAbort, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { InitialSync } from "../../pipeline/sync-loop/initial-sync.ts";
import type { PodCgroups } from "./pod-cgroups.ts";

export interface QosCgroupsOptions {
  readonly cgroups: PodCgroups;
  /** Pods that have not terminated, with their allocated resources. */
  readonly activePods: () => readonly Pod[];
  /** Incomplete until every source has delivered its pods. Until then the sums over the known pods would be too low as limits. */
  readonly initialSync: Pick<InitialSync, "isComplete">;
  /** Records metrics of the pods that the limits are for. */
  readonly record?: ((pods: readonly Pod[]) => void) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

const everyMs = 60_000;

/**
 * Keeps the limits of the QoS cgroups in line with the pods in them: when the cgroup of a pod is created or removed, those that change;
 * and every minute all of them, in case another process has changed them.
 */
export class QosCgroups implements Component {
  readonly name = "qos-cgroups";
  readonly #o: QosCgroupsOptions;
  #loop: Promise<void> = Promise.resolve();
  #running: Promise<void> | undefined;
  #again = false;
  /** The next update also writes limits that have not changed. */
  #writesAll = false;

  constructor(options: QosCgroupsOptions) {
    this.#o = options;
  }

  get done(): Promise<void> {
    return this.#loop;
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#loop = this.#run(signal);
  }

  /** The pods' cgroups, with the QoS cgroups updated after each change. */
  get cgroups(): PodCgroups {
    const { cgroups } = this.#o;
    return {
      start: () => cgroups.start(),
      parentFor: (pod) => cgroups.parentFor(pod),
      exists: (pod) => cgroups.exists(pod),
      list: () => cgroups.list(),
      reduceCpu: (uid) => cgroups.reduceCpu(uid),
      updateQos: (pods, options) => cgroups.updateQos(pods, options),
      limitsFor: (pod) => cgroups.limitsFor(pod),
      removeUnknown: (pod, knownIds) => cgroups.removeUnknown(pod, knownIds),
      update: async (pod, resources) => {
        await cgroups.update(pod, resources);
        void this.#update();
      },
      ensure: async (pod) => {
        await cgroups.ensure(pod);
        void this.#update();
      },
      remove: async (uid, signal) => {
        await cgroups.remove(uid, signal);
        void this.#update();
      },
    };
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        await sleep(this.#o.clock, everyMs, signal);
        this.#writesAll = true;
        await this.#update();
      }
    } catch (error) {
      if (!isAbort(error)) throw error;
    }
  }

  /** Changes during an update are covered by one more. */
  #update(): Promise<void> {
    this.#again = true;
    this.#running ??= this.#updateAll().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #updateAll(): Promise<void> {
    const { cgroups, activePods, initialSync, logger } = this.#o;
    while (this.#again && initialSync.isComplete()) {
      this.#again = false;
      const ifChanged = !this.#writesAll;
      this.#writesAll = false;
      const pods = activePods();
      this.#o.record?.(pods);
      await cgroups.updateQos(pods, { ifChanged }).catch((error: unknown) => {
        logger.error("Failed to update QoS cgroup configuration", { err: messageOf(error) });
      });
    }
  }
}
