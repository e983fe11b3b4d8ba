import type { Metrics } from "../../../lib/base/metrics.ts";
import type { ResizeOperation } from "./resize-change.ts";
import type { ResizeConditions } from "./resize-conditions.ts";

/** Why pending resizes are retried. */
export type ResizeTrigger =
  | "pod_resized"
  | "pod_updated"
  | "pods_added"
  | "pods_removed"
  | "pod_terminated"
  | "periodic_retry";

export interface ResizeMetrics {
  requested(operation: ResizeOperation): void;
  infeasible(detail: string): void;
  deferredAccepted(trigger: ResizeTrigger): void;
  /** The cgroups of a pod were resized, or could not be. */
  actuated(ms: number, success: boolean): void;
}

const durationBuckets = [
  10, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000,
];

/** Metrics of resizes, with upstream's names. */
export function createResizeMetrics(
  metrics: Metrics,
  conditions: Pick<ResizeConditions, "all">,
): ResizeMetrics {
  const requested = metrics.counter({
    name: "kubelet_container_requested_resizes_total",
    help: "Number of requested resizes of containers, by resource, requests or limits, and operation",
    labels: ["resource", "requirement", "operation"],
  });
  const infeasible = metrics.counter({
    name: "kubelet_pod_infeasible_resizes_total",
    help: "Number of resizes of pods that are infeasible on this node, by reason",
    labels: ["reason_detail"],
  });
  const accepted = metrics.counter({
    name: "kubelet_pod_deferred_accepted_resizes_total",
    help: "Number of resizes that were accepted after they had been deferred, by what caused the retry",
    labels: ["retry_trigger"],
  });
  const duration = metrics.histogram({
    name: "kubelet_pod_resize_duration_milliseconds",
    help: "How long it took to resize the cgroups of a pod, in milliseconds",
    labels: ["success"],
    buckets: durationBuckets,
  });
  metrics.gauge({
    name: "kubelet_pod_pending_resizes",
    help: "Number of pending resizes of pods, by reason",
    labels: ["reason"],
    collect(gauge) {
      gauge.reset();
      for (const { reason } of conditions.all("PodResizePending"))
        gauge.inc({ reason: reason.toLowerCase() });
    },
  });
  metrics.gauge({
    name: "kubelet_pod_in_progress_resizes",
    help: "Number of resizes of pods in progress",
    collect: (gauge) => gauge.set(conditions.all("PodResizeInProgress").length),
  });
  return {
    requested: ({ resource, requirement, operation }) => requested.inc({ resource, requirement, operation }),
    infeasible: (reason_detail) => infeasible.inc({ reason_detail }),
    deferredAccepted: (retry_trigger) => accepted.inc({ retry_trigger }),
    actuated: (ms, success) => duration.observe({ success: String(success) }, ms),
  };
}
