import type { Metrics } from "../../../lib/base/metrics.ts";

export function memoryMetrics(metrics: Metrics) {
  const requests = metrics.counter({
    name: "kubelet_memory_manager_pinning_requests_total",
    help: "The number of memory pages allocations which required pinning.",
  });
  const errors = metrics.counter({
    name: "kubelet_memory_manager_pinning_errors_total",
    help: "The number of memory pages allocations which required pinning that failed.",
  });
  return { requested: () => requests.inc(), failed: () => errors.inc() };
}
