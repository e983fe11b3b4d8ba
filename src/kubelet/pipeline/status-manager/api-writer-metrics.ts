import type { Metrics } from "../../../lib/base/metrics.ts";

export interface ApiWriterMetrics {
  /** A status was written, this long after it changed. */
  written(seconds: number): void;
}

export function createApiWriterMetrics(metrics: Metrics): ApiWriterMetrics {
  const durations = metrics.histogram({
    name: "kubelet_pod_status_sync_duration_seconds",
    help: "Duration from a change of a pod status to its successful write to the API server",
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60],
  });
  return { written: (seconds) => durations.observe(seconds) };
}
