import { isCritical } from "../../../../lib/model/critical-pod.ts";
import type { Container, Pod } from "../../../../lib/model/pod.ts";
import { podQos } from "../../../../lib/model/qos.ts";
import {
  amountsOf,
  containerRequests,
  hasPodLevelRequests,
  isSidecar,
  wholeOf,
} from "../../../../lib/model/resources.ts";

const guaranteed = -997;
const bestEffort = 1000;

/**
 * The higher the score, the earlier the OOM killer selects the container. Between BestEffort (1000) and Guaranteed (-997), a Burstable
 * container scores lower the more of the node's memory it requests.
 */
export function oomScoreAdj(pod: Pod, container: Container, memoryCapacity: bigint, podLevel = true): number {
  if (isNodeCritical(pod)) return guaranteed;
  const qos = podQos(pod, { podLevel });
  if (qos === "Guaranteed") return guaranteed;
  if (qos === "BestEffort") return bestEffort;

  const spare = podLevel && hasPodLevelRequests(pod) ? sharedRequest(pod) : 0n;
  const scoreOf = (c: Container) =>
    memoryCapacity > 0n ? Number(1000n - (1000n * (memoryRequest(c) + spare)) / memoryCapacity) : bestEffort;
  let score = scoreOf(container);
  if (isSidecar(container) && pod.spec.initContainers?.some((c) => c.name === container.name)) {
    // A sidecar must not be killed before the containers that it serves.
    score = Math.min(score, Math.max(...pod.spec.containers.map(scoreOf)));
  }
  if (score < bestEffort + guaranteed) return bestEffort + guaranteed;
  return score === bestEffort ? bestEffort - 1 : score;
}

/** Each container's share of the pod-level request that exceeds the sum of container requests. */
function sharedRequest(pod: Pod): bigint {
  const podMemory = wholeOf(amountsOf(pod.spec.resources?.requests), "memory");
  if (podMemory === 0n) return 0n;
  const containers = BigInt(pod.spec.containers.length + (pod.spec.initContainers?.length ?? 0));
  return (podMemory - wholeOf(containerRequests(pod), "memory")) / containers;
}

function memoryRequest(container: Container): bigint {
  return wholeOf(amountsOf(container.resources?.requests), "memory");
}

function isNodeCritical(pod: Pod): boolean {
  return isCritical(pod) && pod.spec.priorityClassName === "system-node-critical";
}
