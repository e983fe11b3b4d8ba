import { isCritical } from "../../../lib/model/critical-pod.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { podQos } from "../../../lib/model/qos.ts";
import { untoleratedTaint } from "./taints.ts";

const memoryPressure = { key: "node.kubernetes.io/memory-pressure", effect: "NoSchedule" };

/**
 * True if the conditions of the node do not allow this pod. Critical pods are always allowed; if only memory is low, pods that request
 * some, and those that tolerate it.
 */
export function isRejectedUnder(conditions: readonly string[], pod: Pod, compares = false): boolean {
  if (conditions.length === 0 || isCritical(pod)) return false;
  if (conditions.some((type) => type !== "MemoryPressure")) return true;
  const effects = ["NoSchedule"];
  return (
    podQos(pod) === "BestEffort" &&
    untoleratedTaint(pod, [memoryPressure], { effects, compares }) !== undefined
  );
}

export function pressureMessage(conditions: readonly string[]): string {
  return `The node had condition: [${conditions.join(" ")}]. `;
}
