import type { Memory, NodeUsage } from "./signals.ts";
import { type Threshold, unitsOf } from "./thresholds.ts";

/** The memory usage of a cgroup at which the kernel notifies the agent. */
export interface UsageThreshold {
  readonly cgroup: "machine" | "pods";
  readonly usageBytes: number;
}

/**
 * Thresholds are of the working set. The kernel compares usage instead, which also includes the inactive page cache: the current size of that
 * cache is added.
 */
export function usageThresholds(thresholds: readonly Threshold[], usage: NodeUsage): UsageThreshold[] {
  return thresholds.flatMap((threshold): UsageThreshold[] => {
    if (threshold.signal === "memory.available") return usageThreshold("machine", threshold, usage.memory);
    if (threshold.signal === "allocatableMemory.available")
      return usageThreshold("pods", threshold, usage.pods);
    return [];
  });
}

function usageThreshold(
  cgroup: UsageThreshold["cgroup"],
  { value }: Threshold,
  memory: Memory = {},
): UsageThreshold[] {
  const { availableBytes: free, usageBytes: used, workingSetBytes: workingSet } = memory;
  if (free === undefined || used === undefined || workingSet === undefined) return [];
  const capacity = free + workingSet;
  return [{ cgroup, usageBytes: capacity - unitsOf(value, capacity) + (used - workingSet) }];
}
