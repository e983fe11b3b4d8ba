import type { Memory, NodeUsage } from "./signals.ts";
import { type Threshold, unitsOf } from "./thresholds.ts";

/** The memory usage of a cgroup at which the kernel notifies the agent. */
export interface UsageAlarm {
  readonly cgroup: "machine" | "pods";
  readonly usageBytes: number;
}

/**
 * The kernel counts usage including the page cache, thresholds are of the working set: an alarm is later by the inactive part of the cache.
 */
export function usageAlarms(thresholds: readonly Threshold[], usage: NodeUsage): UsageAlarm[] {
  return thresholds.flatMap((threshold): UsageAlarm[] => {
    if (threshold.signal === "memory.available") return alarm("machine", threshold, usage.memory);
    if (threshold.signal === "allocatableMemory.available") return alarm("pods", threshold, usage.pods);
    return [];
  });
}

function alarm(cgroup: UsageAlarm["cgroup"], { value }: Threshold, memory: Memory = {}): UsageAlarm[] {
  const { availableBytes: free, usageBytes: used, workingSetBytes: workingSet } = memory;
  if (free === undefined || used === undefined || workingSet === undefined) return [];
  const capacity = free + workingSet;
  return [{ cgroup, usageBytes: capacity - unitsOf(value, capacity) + (used - workingSet) }];
}
