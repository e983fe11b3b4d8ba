import type { Metrics } from "../../../lib/base/metrics.ts";

/** Returns a function that records the lag of the sync loop. */
export function createLagMetrics(metrics: Metrics): (ms: number) => void {
  const lag = metrics.histogram({
    name: "kubelet_sync_loop_lag_seconds",
    help: "Lag of the sync loop: delay of ticks past their scheduled time and of events after they were posted",
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  });
  return (ms) => lag.observe(ms / 1000);
}
