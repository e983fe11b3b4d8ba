import type { Container, Pod } from "../../../lib/model/pod.ts";
import { podQos } from "../../../lib/model/qos.ts";
import { amountsOf } from "../../../lib/model/resources.ts";
import type { ContainerResources } from "../../pipeline/pod-runtime/container-resources.ts";
import { type AllocationGates, isResizable, sameResources } from "./allocated-pod.ts";

/** The resizes that the node cannot perform, even if resources become free. */
export interface ResizeLimits {
  readonly gates: AllocationGates;
  /** PodLevelResources. */
  readonly podLevelResources: boolean;
  /** CPUs of Guaranteed pods are exclusive and cannot be resized: cpuManagerPolicy static, without the gate for it. */
  readonly exclusiveCpus: boolean;
  /** The same for memory: memoryManagerPolicy Static. */
  readonly exclusiveMemory: boolean;
  /** The container may use swap. */
  readonly resources: Pick<ContainerResources, "mayUseSwap">;
}

export interface Infeasible {
  readonly message: string;
  /** In one token, for the metric. */
  readonly detail: string;
}

/** Why this resize, from the allocated to the desired resources, is never possible on this node. */
export function infeasibleResize(desired: Pod, allocated: Pod, limits: ResizeLimits): Infeasible | undefined {
  if (resizesSwap(desired, allocated, limits))
    return {
      message: "In-place resize of containers with swap is not supported.",
      detail: "swap_limitation",
    };
  if (!limits.gates.podLevel && !sameResources(desired.spec.resources, allocated.spec.resources))
    return {
      message: "InPlacePodLevelResourcesVerticalScaling is disabled",
      detail: "plr_feature_gate_off",
    };
  if (podQos(desired, { podLevel: limits.podLevelResources }) !== "Guaranteed") return undefined;
  const requests = (name: string) => changesRequest(desired, allocated, limits.gates, name);
  if (limits.exclusiveCpus && requests("cpu"))
    return {
      message: 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"',
      detail: "guaranteed_pod_cpu_manager_static_policy",
    };
  if (limits.exclusiveMemory && requests("memory"))
    return {
      message: 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"',
      detail: "guaranteed_pod_memory_manager_static_policy",
    };
  return undefined;
}

/** The swap of a container depends on its memory request, and is not changed while it runs. */
function resizesSwap(desired: Pod, allocated: Pod, { resources }: ResizeLimits): boolean {
  return pairsOf(desired, allocated).some(([now, before]) => {
    if (requestOf(now, "memory") === requestOf(before, "memory")) return false;
    const policy = before.resizePolicy?.find(({ resourceName }) => resourceName === "memory");
    if (policy?.restartPolicy === "RestartContainer") return false;
    return resources.mayUseSwap(desired, now) || resources.mayUseSwap(allocated, before);
  });
}

function changesRequest(desired: Pod, allocated: Pod, gates: AllocationGates, name: string): boolean {
  return pairsOf(desired, allocated).some(
    ([now, before, isInit]) =>
      isResizable(now, isInit, gates) && requestOf(now, name) !== requestOf(before, name),
  );
}

function requestOf({ resources }: Container, name: string): bigint {
  return amountsOf(resources?.requests).get(name) ?? 0n;
}

function pairsOf(desired: Pod, allocated: Pod): [now: Container, before: Container, isInit: boolean][] {
  const pairs = (now: readonly Container[], before: readonly Container[], isInit: boolean) =>
    now.flatMap((container): [Container, Container, boolean][] => {
      const old = before.find(({ name }) => name === container.name);
      return old ? [[container, old, isInit]] : [];
    });
  return [
    ...pairs(desired.spec.initContainers ?? [], allocated.spec.initContainers ?? [], true),
    ...pairs(desired.spec.containers, allocated.spec.containers, false),
  ];
}
