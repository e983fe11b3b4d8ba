import type { Metrics } from "../../lib/base/metrics.ts";

/** Where exclusive resources come from: the node, or what the pod has for its containers together. */
export type AllocationSource = "node" | "pod";

export interface ResourceManagerMetrics {
  allocated(source: AllocationSource): void;
  failed(source: AllocationSource): void;
  /** A container has resources of the node or of its pod for itself, or shares the resources of its pod. */
  assigned(type: "node_exclusive" | "pod_exclusive" | "pod_shared"): void;
}

/** The metrics that the reference kubelet has only with the gate PodLevelResourceManagers. */
export function resourceManagerMetrics(
  metrics: Metrics,
  resource: "cpu" | "memory",
  enabled: boolean,
): ResourceManagerMetrics {
  if (!enabled) return { allocated() {}, failed() {}, assigned() {} };
  const allocations = metrics.counter({
    name: "resource_manager_allocations_total",
    help: "Number of exclusive resource allocations performed by a resource manager.",
    labels: ["resource_name", "source"],
  });
  const errors = metrics.counter({
    name: "resource_manager_allocation_errors_total",
    help: "Number of errors encountered during exclusive resource allocation.",
    labels: ["resource_name", "source"],
  });
  const assignments = metrics.counter({
    name: "resource_manager_container_assignments",
    help: "Number of containers with a specific type of resource assignment.",
    labels: ["resource_name", "assignment_type"],
  });
  const resource_name = resource;
  return {
    allocated: (source) => allocations.inc({ resource_name, source }),
    failed: (source) => errors.inc({ resource_name, source }),
    assigned: (assignment_type) => assignments.inc({ resource_name, assignment_type }),
  };
}
