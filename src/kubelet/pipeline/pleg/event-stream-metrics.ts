import type { Metrics } from "../../../lib/base/metrics.ts";

export interface EventStreamMetrics {
  opened(): void;
  /** A stream could not be opened, or has ended without our wish. */
  broke(): void;
  /** An event came, so long after the runtime had made it. */
  received(latencyMs: number): void;
}

/** How the runtime's events come in, under the names that dashboards know. */
export function createEventStreamMetrics(metrics: Metrics): EventStreamMetrics {
  const opened = metrics.counter({
    name: "kubelet_evented_pleg_connection_success_count",
    help: "Streams of runtime events that were opened",
  });
  const broken = metrics.counter({
    name: "kubelet_evented_pleg_connection_error_count",
    help: "Streams of runtime events that could not be opened or that broke",
  });
  const latencies = metrics.histogram({
    name: "kubelet_evented_pleg_connection_latency_seconds",
    help: "Time from when the runtime made an event to when it was received",
  });
  return {
    opened: () => opened.inc(),
    broke: () => broken.inc(),
    received: (latencyMs) => latencies.observe(Math.max(0, latencyMs) / 1000),
  };
}
