import type { Counter } from "prom-client";
import type { Metrics } from "../../../lib/base/metrics.ts";

/** As in the reference kubelet, it is registered regardless of the feature gate. */
export function droppedEvents(metrics: Metrics): Counter {
  return metrics.counter({
    name: "kubelet_pod_watch_events_dropped_total",
    help: "Pod watch events that were dropped because a client did not keep up",
  });
}
