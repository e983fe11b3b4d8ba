import { type Clock, msSince } from "../../../lib/base/clock.ts";
import { isAbort, KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { LinuxContainerResourcesInit, RuntimeService, SandboxId } from "../../../lib/clients/cri/cri.ts";
import type { CgroupResources } from "../../../lib/host/cgroups/cgroup-filesystem.ts";
import type { CgroupLimits } from "../../../lib/host/cgroups/limits-reader.ts";
import { type Container, type Pod, podRef } from "../../../lib/model/pod.ts";
import type { Allocation } from "../../resources/allocation/allocation.ts";
import type { ResizeMetrics } from "../../resources/allocation/resize-metrics.ts";
import type { Resizes } from "../../resources/allocation/resizes.ts";
import type { ResizeCgroups } from "../../resources/cgroups/resize-cgroups.ts";
import type { ObservedContainer, ObservedPod } from "../../state/observed-pods.ts";
import type { ContainerResources } from "./container-resources.ts";
import { isShrinking, memoryInUse, type ShrinkingLimit } from "./memory-guard.ts";
import { podCgroupSteps } from "./resize-steps.ts";

/** The code of an error after which nothing was written: all limits of the pod are as before. */
export const memoryStillInUse = "ResizeMemoryInUse";

/** The records and cgroups that a resize needs. */
export interface PodResizing {
  readonly allocation: Pick<
    Allocation,
    "actionFor" | "needsPodResize" | "isResizing" | "resizeStarts" | "resized" | "containerStarts"
  >;
  readonly resizes: Pick<Resizes, "progressed" | "failed">;
  readonly metrics: Pick<ResizeMetrics, "actuated">;
  readonly resources: Pick<ContainerResources, "of" | "overhead">;
  readonly cgroups: Pick<ResizeCgroups, "limitsFor" | "currentLimits" | "update" | "memoryUsage">;
}

export interface ResizePodOptions {
  readonly runtime: Pick<RuntimeService, "updateContainerResources" | "updatePodSandboxResources">;
  readonly resizing: PodResizing;
  /** Removes cgroups of containers that the runtime does not have; true if there were any. */
  readonly removeUnknownCgroups: (pod: Pod) => Promise<boolean>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Gives the cgroups of a pod and of its running containers the resources of the pod. Each container gets CPU and memory in one call, so
 * that it does not matter what an interrupted resize has left.
 */
export class PodResizer {
  readonly #o: ResizePodOptions;

  constructor(options: ResizePodOptions) {
    this.#o = options;
  }

  async resize(pod: Pod, containers: readonly Container[], observed: ObservedPod): Promise<void> {
    const { clock, resizing } = this.#o;
    const startedAt = clock.monotonic();
    let success = false;
    try {
      await this.#resize(pod, containers, observed);
      success = true;
    } catch (error) {
      if (!isAbort(error)) resizing.resizes.failed(pod, messageOf(error));
      throw error;
    } finally {
      resizing.metrics.actuated(msSince(clock, startedAt), success);
    }
  }

  async #resize(pod: Pod, containers: readonly Container[], observed: ObservedPod): Promise<void> {
    const { resizing, runtime } = this.#o;
    const running = containers.flatMap((container) => {
      const found = observed.containers.find((c) => c.name === container.name && c.state === "running");
      return found ? [{ container, observed: found, linux: resizing.resources.of(pod, container) }] : [];
    });
    const desired = resizing.cgroups.limitsFor(pod);
    const current = resizing.cgroups.currentLimits(pod);
    // This comes even before the check of memory: containers may start with their new resources before the cgroup of the pod has them.
    await resizing.allocation.resizeStarts(pod);
    const inUse = memoryInUse(await this.#shrinking(pod, desired, current, running));
    if (inUse !== undefined) throw new KubeletError(memoryStillInUse, inUse);
    const steps = desired && podCgroupSteps(current, desired);
    const write = (part: CgroupResources | undefined) =>
      part && desired && this.#writePod(pod, observed.sandboxes[0]?.id, part, { ...desired, ...part });
    await write(steps?.before);
    // Containers that shrink come first: together the containers never have more than before or after.
    const growth = ({ observed: { resources }, linux }: (typeof running)[number]) =>
      Number(linux.memoryLimitInBytes ?? 0n) - (resources?.memoryLimit ?? 0);
    for (const { observed: found, linux } of [...running].sort((a, b) => growth(a) - growth(b)))
      await runtime.updateContainerResources(found.id, linux);
    await write(steps?.after);
    await resizing.allocation.resized(
      pod,
      running.map(({ container }) => container),
    );
  }

  /** The memory limits that become lower, with what is in use. */
  async #shrinking(
    pod: Pod,
    desired: CgroupResources | undefined,
    current: CgroupLimits,
    running: readonly {
      container: Container;
      observed: ObservedContainer;
      linux: LinuxContainerResourcesInit;
    }[],
  ): Promise<ShrinkingLimit[]> {
    const { resizing } = this.#o;
    const limits: ShrinkingLimit[] = [];
    const ofPod = desired?.memory ?? 0n;
    if (isShrinking(ofPod, current.memoryLimit))
      limits.push({ limit: ofPod, usage: await resizing.cgroups.memoryUsage(pod) });
    for (const { container, observed, linux } of running) {
      const limit = BigInt(linux.memoryLimitInBytes ?? 0n);
      const now = observed.resources?.memoryLimit;
      if (!isShrinking(limit, now === undefined ? undefined : BigInt(now))) continue;
      limits.push({
        container: container.name,
        limit,
        usage: await resizing.cgroups.memoryUsage(pod, observed),
      });
    }
    return limits;
  }

  /** The runtime is informed first: it may reject the resize. */
  async #writePod(
    pod: Pod,
    sandbox: SandboxId | undefined,
    part: CgroupResources,
    whole: CgroupResources,
  ): Promise<void> {
    const { runtime, resizing, logger, removeUnknownCgroups } = this.#o;
    if (sandbox !== undefined) {
      const { overhead, resources } = sandboxResources(whole, resizing.resources.overhead(pod));
      await runtime.updatePodSandboxResources(sandbox, overhead, resources).catch((error: unknown) => {
        if (!isUnimplemented(error))
          throw new KubeletError(
            "ResizePodInPlace",
            `failed to notify runtime for UpdatePodSandboxResources; resize rejected: ${messageOf(error)}`,
            { cause: error },
          );
      });
    }
    try {
      await resizing.cgroups.update(pod, part);
    } catch (error) {
      // What an interrupted start has left in the pod's cgroup keeps its limits.
      if (!(await removeUnknownCgroups(pod))) throw error;
      logger.debug(2, "Retrying update of pod cgroup", { pod: podRef(pod), err: messageOf(error) });
      await resizing.cgroups.update(pod, part);
    }
  }
}

/** containerd 2.2 reports an unimplemented call as unknown. */
function isUnimplemented(error: unknown): boolean {
  const { grpcCode } = error as { grpcCode?: string };
  return (
    grpcCode === "UNIMPLEMENTED" || (grpcCode === "UNKNOWN" && messageOf(error).includes("not implemented"))
  );
}

/** A runtime that isolates pods in VMs sizes the VM by these resources. */
function sandboxResources(
  { cpuShares = 0n, cpuQuota = 0n, cpuPeriod = 0n, memory = 0n }: CgroupResources,
  overhead: LinuxContainerResourcesInit,
) {
  const without = (amount: bigint, of: unknown) => {
    const rest = amount - BigInt((of as bigint | undefined) ?? 0n);
    return amount > 0n && rest > 0n ? rest : amount;
  };
  return {
    overhead,
    resources: {
      cpuShares,
      cpuPeriod,
      cpuQuota: without(cpuQuota, overhead.cpuQuota),
      memoryLimitInBytes: without(memory, overhead.memoryLimitInBytes),
    },
  };
}
