import type { Metrics } from "../../../lib/base/metrics.ts";

export interface EventStreamMetrics {
  opened(): void;
  /** A stream could not be opened, or broke. */
  broke(): void;
  /** An event was received this long after the runtime created it. */
  received(latencyMs: number): void;
}

/** Metrics of the runtime's event stream, with upstream's names. */
export function createEventStreamMetrics(metrics: Metrics): EventStreamMetrics {
  const opened = metrics.counter({
    name: "kubelet_evented_pleg_connection_success_count",
    help: "Connections to the event stream of the runtime",
  });
  const broken = metrics.counter({
    name: "kubelet_evented_pleg_connection_error_count",
    help: "Connections to the event stream of the runtime that failed or were lost",
  });
  const latencies = metrics.histogram({
    name: "kubelet_evented_pleg_connection_latency_seconds",
    help: "Time from when the runtime created an event to when it was received",
  });
  return {
    opened: () => opened.inc(),
    broke: () => broken.inc(),
    received: (latencyMs) => latencies.observe(Math.max(0, latencyMs) / 1000),
  };
}
