import type { Clock } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { isAbort, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { runPeriodically } from "../../../lib/base/run-periodically.ts";
import type { ContainerId, RuntimeService } from "../../../lib/clients/cri/cri.ts";
import { formatCpuSet } from "../../../lib/model/cpu-set.ts";
import { containersOf } from "../../../lib/model/exclusive-cpus.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import { podRef } from "../../../lib/model/pod.ts";
import { newestContainer, type ObservedPod } from "../../state/observed-pods.ts";
import type { CpuManager } from "./cpu-manager.ts";

export interface CpusetReconcilerOptions {
  readonly everyMs: number;
  readonly activePods: () => readonly Pod[];
  readonly observed: { get(uid: PodUid): ObservedPod | undefined };
  /** The CPUs that the container may run on; undefined for all. */
  readonly cpus: Pick<CpuManager, "cpusOf">;
  readonly runtime: Pick<RuntimeService, "updateContainerResources">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Updates the cpusets of running containers: the shared pool shrinks and grows while they run. */
export class CpusetReconciler implements Component {
  readonly name = "cpuset-reconciler";
  readonly #o: CpusetReconcilerOptions;
  /** The CPUs that were last set, by container. Those that a previous agent set are not known, so each container is set once. */
  #applied = new Map<ContainerId, string>();
  #loop: Promise<void> = Promise.resolve();

  constructor(options: CpusetReconcilerOptions) {
    this.#o = options;
  }

  get done(): Promise<void> {
    return this.#loop;
  }

  async start(signal: AbortSignal): Promise<void> {
    const { everyMs, clock, logger } = this.#o;
    this.#loop = runPeriodically(() => this.#reconcile(signal), {
      everyMs,
      clock,
      signal,
      onError: (error) => logger.error("Failed to reconcile cpusets", { err: messageOf(error) }),
    });
  }

  async #reconcile(signal: AbortSignal): Promise<void> {
    const { activePods, observed, cpus: manager } = this.#o;
    const applied = new Map<ContainerId, string>();
    for (const pod of activePods()) {
      const { uid } = pod.metadata;
      for (const { name } of [...containersOf(pod), ...(pod.spec.ephemeralContainers ?? [])]) {
        const container = newestContainer(observed.get(uid), name);
        const cpus = manager.cpusOf(uid, name);
        if (container?.state !== "running" || !cpus) continue;
        const before = this.#applied.get(container.id);
        const after = await this.#update(pod, { ...container, cpus: formatCpuSet(cpus), before }, signal);
        if (after !== undefined) applied.set(container.id, after);
      }
    }
    this.#applied = applied;
  }

  /** The cpuset that is known to be in effect; undefined if it is not known. */
  async #update(
    pod: Pod,
    { id, name, cpus, before }: { id: ContainerId; name: string; cpus: string; before: string | undefined },
    signal: AbortSignal,
  ): Promise<string | undefined> {
    if (before === cpus) return cpus;
    const { runtime, logger } = this.#o;
    try {
      await runtime.updateContainerResources(id, { cpusetCpus: cpus }, { signal, isCounted: false });
      return cpus;
    } catch (error) {
      if (isAbort(error)) throw error;
      const fields = { pod: podRef(pod), podUID: pod.metadata.uid, container: name, cpus };
      logger.error("Failed to update cpuset of container, will retry", { ...fields, err: messageOf(error) });
      return undefined;
    }
  }
}
