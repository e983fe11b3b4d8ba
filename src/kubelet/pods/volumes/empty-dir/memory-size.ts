import type { Pod } from "../../../../lib/model/pod.ts";
import { podQos } from "../../../../lib/model/qos.ts";
import {
  amountsOf,
  hasPodLevelResources,
  limitsByStep,
  podLimits,
  wholeOf,
} from "../../../../lib/model/resources.ts";

/**
 * The size limit of a volume in memory: the smallest of the memory of all pods, the pod's memory limit if it has one, and its
 * sizeLimit. Containers could not use more anyway.
 */
export function memoryVolumeSize(
  pod: Pod,
  sizeLimit: string | undefined,
  allocatableMemory: bigint,
  podLevel = true,
): bigint {
  const own = wholeOf(amountsOf(sizeLimit === undefined ? {} : { size: sizeLimit }), "size");
  const bounds = [podMemoryLimit(pod, podLevel) ?? 0n, own];
  return bounds.reduce((size, bound) => (bound > 0n && bound < size ? bound : size), allocatableMemory);
}

/** A pod has a memory limit only if it has one in every phase of its lifetime. */
function podMemoryLimit(pod: Pod, podLevel: boolean): bigint | undefined {
  const limit = wholeOf(podLimits(pod, { podLevel }), "memory");
  const qos = podQos(pod, { podLevel });
  if (qos === "Guaranteed") return limit;
  if (qos === "BestEffort") return undefined;
  const atPodLevel =
    podLevel && hasPodLevelResources(pod) && amountsOf(pod.spec.resources?.limits).get("memory");
  const atEachStep = limitsByStep(pod).every((step) => (step.get("memory") ?? 0n) !== 0n);
  return atPodLevel || atEachStep ? limit : undefined;
}
