import { exponentialBuckets, type Metrics } from "../../base/metrics.ts";

/** Counts runtime calls under the names that dashboards for a kubelet expect. */
export interface OperationMetrics {
  record(method: string, seconds: number, failed: boolean): void;
  recordSandboxRun(runtimeHandler: string, seconds: number, failed: boolean): void;
}

/** Methods that the reference kubelet calls without counting them. */
const uncounted = ["RuntimeConfig", "ReopenContainerLog", "ListContainerStats", "ListPodSandboxStats"];

/** `countsImageFs`: as in the reference kubelet, ImageFsInfo is counted where the stats of containers do not come from the runtime. */
export function createOperationMetrics(
  metrics: Metrics,
  o: { readonly countsImageFs?: boolean } = {},
): OperationMetrics {
  const skipped = new Set([...uncounted, ...(o.countsImageFs ? [] : ["ImageFsInfo"])]);
  const labels = ["operation_type"] as const;
  const total = metrics.counter({
    name: "kubelet_runtime_operations_total",
    help: "Calls to the container runtime, by operation.",
    labels,
  });
  const errors = metrics.counter({
    name: "kubelet_runtime_operations_errors_total",
    help: "Calls to the container runtime that failed, by operation.",
    labels,
  });
  const duration = metrics.histogram({
    name: "kubelet_runtime_operations_duration_seconds",
    help: "How long calls to the container runtime took, by operation.",
    labels,
    buckets: exponentialBuckets(0.005, 2.5, 14),
  });
  const sandboxRuns = metrics.histogram({
    name: "kubelet_run_podsandbox_duration_seconds",
    help: "How long it took to run a pod sandbox, by runtime handler.",
    labels: ["runtime_handler"] as const,
  });
  const sandboxErrors = metrics.counter({
    name: "kubelet_run_podsandbox_errors_total",
    help: "Pod sandboxes that could not be run, by runtime handler.",
    labels: ["runtime_handler"] as const,
  });
  return {
    record(method, seconds, failed) {
      if (skipped.has(method)) return;
      const operation_type = operationType(method);
      total.inc({ operation_type });
      duration.observe({ operation_type }, seconds);
      if (failed) errors.inc({ operation_type });
    },
    recordSandboxRun(runtime_handler, seconds, failed) {
      sandboxRuns.observe({ runtime_handler }, seconds);
      if (failed) sandboxErrors.inc({ runtime_handler });
    },
  };
}

/** The operation_type of a CRI method: RunPodSandbox -> run_podsandbox. */
export function operationType(method: string): string {
  if (method === "UpdateContainerResources") return "update_container";
  return method
    .replace("PodSandbox", "Podsandbox")
    .replace(/(?<=[a-z])(?=[A-Z])/g, "_")
    .toLowerCase();
}
