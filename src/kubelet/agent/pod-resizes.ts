import type { ContainerResources } from "../pipeline/pod-runtime/container-resources.ts";
import type { PodResizing } from "../pipeline/pod-runtime/resize-pod.ts";
import type { InitialSync } from "../pipeline/sync-loop/initial-sync.ts";
import type { PodAdmission } from "../pods/admission/pod-admission.ts";
import { Allocation } from "../resources/allocation/allocation.ts";
import { ResizeConditions } from "../resources/allocation/resize-conditions.ts";
import { createResizeMetrics } from "../resources/allocation/resize-metrics.ts";
import { Resizes } from "../resources/allocation/resizes.ts";
import type { ResizeCgroups } from "../resources/cgroups/resize-cgroups.ts";
import type { AgentCore } from "./agent-core.ts";
import type { AgentOptions } from "./agent-options.ts";

/** The allocated resources of pods. */
export function podAllocation({ options: o, clock, logger }: AgentCore) {
  const gates = resizeGates(o);
  return {
    allocation: new Allocation({ rootDir: o.rootDir, gates, logger }),
    conditions: new ResizeConditions(clock),
  };
}

function resizeGates({ gates }: AgentOptions) {
  return {
    podLevel: gates.enabled("InPlacePodLevelResourcesVerticalScaling"),
    initContainers: gates.enabled("InPlacePodVerticalScalingInitContainers"),
  };
}

/** Resizes of pods. */
export function podResizes(
  core: AgentCore,
  parts: {
    readonly allocation: Allocation;
    readonly conditions: ResizeConditions;
    readonly resources: ContainerResources;
    readonly admission: Pick<PodAdmission, "rejectResize">;
    readonly initialSync: Pick<InitialSync, "isComplete">;
    readonly cgroups: ResizeCgroups;
  },
) {
  const { options: o, config, node, clock, logger, metrics, events, desired, post } = core;
  const { allocation, conditions, resources, admission, initialSync, cgroups } = parts;
  const resizeMetrics = createResizeMetrics(metrics, conditions);
  const resizes = new Resizes({
    allocation,
    conditions,
    clock,
    logger,
    events,
    metrics: resizeMetrics,
    admission,
    initialSync,
    limits: {
      gates: resizeGates(o),
      podLevelResources: node.settings.gates.podLevelResources,
      exclusiveCpus:
        config.cpuManagerPolicy === "static" && !o.gates.enabled("InPlacePodVerticalScalingExclusiveCPUs"),
      exclusiveMemory:
        config.memoryManagerPolicy === "Static" &&
        !o.gates.enabled("InPlacePodVerticalScalingExclusiveMemory"),
      resources,
    },
    desired,
    onAllocated: (uid) => post({ kind: "resize-allocated", uid }),
    onChange: (uid) => post({ kind: "resize-changed", uid }),
  });
  /** For the runtime: the records, and the pods' cgroups. */
  const resizing: PodResizing = { allocation, resizes, metrics: resizeMetrics, resources, cgroups };
  return { resizes, resizing };
}
