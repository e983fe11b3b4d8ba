import type { CgroupResources } from "../../lib/host/cgroups/cgroup-filesystem.ts";
import { limitsReader } from "../../lib/host/cgroups/limits-reader.ts";
import { cgroupUsageReader } from "../../lib/host/cgroups/usage-reader.ts";
import { containerIdIn } from "../../lib/model/oom-kill.ts";
import type { Container, Pod, PodUid } from "../../lib/model/pod.ts";
import type { CriRequests } from "../pipeline/pod-runtime/cri-requests.ts";
import type { PodResizing, SandboxResources } from "../pipeline/pod-runtime/resize-pod.ts";
import { Allocation } from "../resources/allocation/allocation.ts";
import { ResizeConditions } from "../resources/allocation/resize-conditions.ts";
import { createResizeMetrics } from "../resources/allocation/resize-metrics.ts";
import { Resizes } from "../resources/allocation/resizes.ts";
import type { PodCgroups } from "../resources/cgroups/pod-cgroups.ts";
import type { AgentCore } from "./agent-core.ts";

/** The allocated resources of pods, and what resizes them. */
export function podResizes(
  core: AgentCore,
  parts: {
    readonly requests: () => Pick<CriRequests, "resources" | "overhead" | "mayUseSwap">;
    readonly reject: (pod: Pod) => { readonly reason: string; readonly message: string } | undefined;
    readonly isReady: () => boolean;
  },
) {
  const { options: o, config, node, clock, logger, metrics, events, desired, post } = core;
  const { requests } = parts;
  const gates = {
    podLevel: o.gates.enabled("InPlacePodLevelResourcesVerticalScaling"),
    initContainers: o.gates.enabled("InPlacePodVerticalScalingInitContainers"),
  };
  const allocation = new Allocation({ rootDir: o.rootDir, gates, logger });
  const conditions = new ResizeConditions(clock);
  const resizeMetrics = createResizeMetrics(metrics, conditions);
  const resizes = new Resizes({
    allocation,
    conditions,
    clock,
    logger,
    events,
    metrics: resizeMetrics,
    reject: parts.reject,
    isReady: parts.isReady,
    limits: {
      gates,
      podLevelResources: node.settings.gates.podLevelResources,
      exclusiveCpus:
        config.cpuManagerPolicy === "static" && !o.gates.enabled("InPlacePodVerticalScalingExclusiveCPUs"),
      exclusiveMemory:
        config.memoryManagerPolicy === "Static" &&
        !o.gates.enabled("InPlacePodVerticalScalingExclusiveMemory"),
      mayUseSwap: (pod, container) => requests().mayUseSwap(pod, container),
    },
    desired: (uid) => desired.get(uid),
    onAllocated: (uid) => post({ kind: "resize-allocated", uid }),
    onChange: (uid) => post({ kind: "resize-changed", uid }),
  });
  return {
    allocation,
    resizes,
    conditionsOf: (uid: PodUid) => conditions.of(uid),
    /** For the runtime: the records, and the pods' cgroups. */
    resizing: (cgroups: PodCgroups): PodResizing => ({
      actionFor: (pod, container, isInit) => allocation.actionFor(pod, container, isInit),
      needsPodResize: (pod) => allocation.needsPodResize(pod),
      isResizing: (uid) => allocation.isResizing(uid),
      resizeStarts: (pod) => allocation.resizeStarts(pod),
      resized: (pod, containers) => allocation.resized(pod, containers),
      containerStarts: (pod, container) => allocation.containerStarts(pod, container),
      progressed: (pod, isResizing) => resizes.progressed(pod, isResizing),
      failed: (pod, message) => resizes.failed(pod, message),
      measured: (ms, success) => resizeMetrics.actuated(ms, success),
      resourcesOf: (pod: Pod, container: Container) => requests().resources(pod, container),
      sandboxResources: (pod, limits) => sandboxResources(limits, requests().overhead(pod)),
      ...cgroupAccess(core, cgroups),
    }),
  };
}

/** The limits and the memory usage of the pods' cgroups. */
function cgroupAccess(
  { node }: AgentCore,
  cgroups: PodCgroups,
): Pick<PodResizing, "limitsFor" | "currentLimits" | "updateCgroup" | "memoryUsage"> {
  const readLimits = limitsReader(node.layout);
  const usage = cgroupUsageReader(node.layout);
  return {
    limitsFor: (pod) => cgroups.limitsFor(pod),
    currentLimits: (pod) => readLimits(cgroups.parentFor(pod)),
    updateCgroup: (pod, resources) => cgroups.update(pod, resources),
    memoryUsage: async (pod, container) => {
      const path = cgroups.parentFor(pod);
      const child =
        container && (await usage.children(path)).find((name) => containerIdIn(name) === container.id);
      if (container && child === undefined) return undefined;
      const found = await usage.read(child === undefined ? path : `${path}/${child}`, "memory");
      return found?.memory && BigInt(found.memory.usage);
    },
  };
}

/** A runtime that isolates pods in VMs sizes the VM by these resources. */
function sandboxResources(
  { cpuShares = 0n, cpuQuota = 0n, cpuPeriod = 0n, memory = 0n }: CgroupResources,
  overhead: SandboxResources["overhead"],
): SandboxResources {
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
