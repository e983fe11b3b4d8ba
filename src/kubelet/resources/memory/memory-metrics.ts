import type { Metrics } from "../../../lib/base/metrics.ts";
import { type AllocationSource, resourceManagerMetrics } from "../../state/resource-manager-metrics.ts";

export function memoryMetrics(metrics: Metrics, podLevel = false) {
  const manager = resourceManagerMetrics(metrics, "memory", podLevel);
  const requests = metrics.counter({
    name: "kubelet_memory_manager_pinning_requests_total",
    help: "The number of memory pages allocations which required pinning.",
  });
  const errors = metrics.counter({
    name: "kubelet_memory_manager_pinning_errors_total",
    help: "The number of memory pages allocations which required pinning that failed.",
  });
  return {
    requested: () => requests.inc(),
    failed: (source: AllocationSource) => {
      errors.inc();
      manager.failed(source);
    },
    /** Blocks of a container. */
    allocated: (blocks: number) => {
      for (let i = 0; i < blocks; i++) manager.allocated("node");
      manager.assigned("node_exclusive");
    },
    /** A container of a pod that has memory for its containers together. */
    podAllocated: (type: "pod_exclusive" | "pod_shared") => {
      manager.allocated("pod");
      manager.assigned(type);
    },
  };
}
