import type { Metrics } from "../../../lib/base/metrics.ts";

export interface ApiWriterMetrics {
  /** A status was written, this long after it changed. */
  written(seconds: number): void;
}

export function createApiWriterMetrics(metrics: Metrics): ApiWriterMetrics {
  const durations = metrics.histogram({
    name: "kubelet_pod_status_sync_duration_seconds",
    help: "Time from when the status of a pod changed to when the API server had it",
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60],
  });
  return { written: (seconds) => durations.observe(seconds) };
}
