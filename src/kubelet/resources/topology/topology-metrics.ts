import { exponentialBuckets, type Metrics } from "../../../lib/base/metrics.ts";
import type { Scope } from "./topology-manager.ts";

export type TopologyMetrics = ReturnType<typeof topologyMetrics>;

export function topologyMetrics(metrics: Metrics) {
  const requests = metrics.counter({
    name: "kubelet_topology_manager_admission_requests_total",
    help: "The number of admission requests where resources have to be aligned.",
  });
  const errors = metrics.counter({
    name: "kubelet_topology_manager_admission_errors_total",
    help: "The number of admission request failures where resources could not be aligned.",
  });
  const duration = metrics.histogram({
    name: "kubelet_topology_manager_admission_duration_ms",
    help: "Duration in milliseconds to serve a pod admission request.",
    buckets: exponentialBuckets(0.05, 2, 15),
  });
  const labels = ["scope", "boundary"] as const;
  const aligned = metrics.counter({
    name: "kubelet_container_aligned_compute_resources_count",
    help: "Cumulative number of aligned compute resources allocated to containers by alignment type.",
    labels,
  });
  const notAligned = metrics.counter({
    name: "kubelet_container_aligned_compute_resources_failure_count",
    help: "Cumulative number of failures to allocate aligned compute resources to containers by alignment type.",
    labels,
  });
  const of = (scope: Scope) => ({ scope, boundary: "numa_node" });
  return {
    /** Exposes the counters of aligned resources, at 0, if a policy aligns any. */
    exposeAligned: () => {
      for (const counter of [aligned, notAligned])
        for (const scope of ["container", "pod"] as const) counter.inc(of(scope), 0);
    },
    requested: () => requests.inc(),
    failed: () => errors.inc(),
    took: (ms: number) => duration.observe(ms),
    aligned: (scope: Scope) => aligned.inc(of(scope)),
    notAligned: (scope: Scope) => notAligned.inc(of(scope)),
  };
}
