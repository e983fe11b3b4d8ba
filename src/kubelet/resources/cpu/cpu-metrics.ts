import type { Metrics } from "../../../lib/base/metrics.ts";
import type { CpuSet } from "../../../lib/model/cpu-set.ts";
import { resourceManagerMetrics } from "../../state/resource-manager-metrics.ts";
import { type CpuAssignments, exclusiveOf } from "./cpu-assignments.ts";
import { availableCpus, type StaticPolicy } from "./static-policy.ts";

export interface CpuMetrics {
  /** A container requests exclusive CPUs. */
  requested(): void;
  failed(): void;
  allocated(cpus: CpuSet): void;
  podFailed(): void;
  /** A pod got CPUs for its containers together. Each container has some of them for itself or shares the rest. */
  podAllocated(cpus: CpuSet, containers: readonly ("pod_exclusive" | "pod_shared")[]): void;
}

/** The metrics of the CPU manager; the gauges follow `assignments`. */
export function createCpuMetrics(
  metrics: Metrics,
  policy: StaticPolicy | undefined,
  assignments: () => CpuAssignments,
  podLevel = false,
): CpuMetrics {
  const manager = resourceManagerMetrics(metrics, "cpu", podLevel);
  const requests = metrics.counter({
    name: "kubelet_cpu_manager_pinning_requests_total",
    help: "The number of cpu core allocations which required pinning.",
  });
  const errors = metrics.counter({
    name: "kubelet_cpu_manager_pinning_errors_total",
    help: "The number of cpu core allocations which required pinning failed.",
  });
  metrics.gauge({
    name: "kubelet_cpu_manager_shared_pool_size_millicores",
    help: "The size of the shared CPU pool for non-guaranteed QoS pods, in millicores.",
    collect: (gauge) => gauge.set(policy ? availableCpus(policy, assignments()).size * 1000 : 0),
  });
  metrics.gauge({
    name: "kubelet_cpu_manager_exclusive_cpu_allocation_count",
    help: "The total number of CPUs exclusively allocated to containers running on this node",
    collect: (gauge) => gauge.set(exclusiveOf(assignments()).size),
  });
  const perNode = new Set<number>();
  metrics.gauge({
    name: "kubelet_cpu_manager_allocation_per_numa",
    help: "Number of CPUs allocated per NUMA node",
    labels: ["numa_node"],
    collect: (gauge) => {
      const exclusive = exclusiveOf(assignments());
      // A node that had CPUs allocated once keeps its series.
      for (const node of policy?.topology.groupsOf("numaNode", exclusive) ?? []) perNode.add(node);
      for (const node of perNode) {
        const cpus = policy?.topology.cpusIn("numaNode", node).intersection(exclusive);
        gauge.set({ numa_node: String(node) }, cpus?.size ?? 0);
      }
    },
  });
  const aligned = metrics.counter({
    name: "kubelet_container_aligned_compute_resources_count",
    help: "Cumulative number of aligned compute resources allocated to containers by alignment type.",
    labels: ["scope", "boundary"],
  });
  const unaligned = metrics.counter({
    name: "kubelet_container_aligned_compute_resources_failure_count",
    help: "Cumulative number of failures to allocate aligned compute resources to containers by alignment type.",
    labels: ["scope", "boundary"],
  });
  const physical = { scope: "container", boundary: "physical_cpu" };
  const uncore = { scope: "container", boundary: "uncore_cache" };
  if (policy) {
    unaligned.inc(physical, 0);
    for (const boundary of [physical, uncore]) aligned.inc(boundary, 0);
  }
  const countUncore = (cpus: CpuSet) => {
    if (policy && policy.topology.groupsOf("uncoreCache", cpus).size <= 1) aligned.inc(uncore);
  };
  return {
    requested: () => requests.inc(),
    failed: () => {
      errors.inc();
      manager.failed("node");
      if (policy?.options.fullPcpusOnly) unaligned.inc(physical);
    },
    allocated: (cpus) => {
      manager.allocated("node");
      manager.assigned("node_exclusive");
      if (policy?.options.fullPcpusOnly) aligned.inc(physical);
      countUncore(cpus);
    },
    podFailed: () => {
      errors.inc();
      manager.failed("pod");
    },
    podAllocated: (cpus, containers) => {
      countUncore(cpus);
      for (const type of containers) {
        manager.allocated("pod");
        manager.assigned(type);
      }
    },
  };
}
