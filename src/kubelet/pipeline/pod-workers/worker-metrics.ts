import type { Metrics } from "../../../lib/base/metrics.ts";
import { msBetween, type WallTime, wallTime } from "../../../lib/base/time.ts";
import { annotationSeen, isStatic, type Pod, type PodUid } from "../../../lib/model/pod.ts";

const known = new Set([
  "AppArmor",
  "Evicted",
  "InitContainerRestartPolicyForbidden",
  "InvalidNodeInfo",
  "NodeShutdown",
  "OutOfcpu",
  "OutOfephemeral-storage",
  "OutOfmemory",
  "OutOfpods",
  "PodFeatureUnsupported",
  "PodLevelResourcesNotSupported",
  "PodOSNotSupported",
  "PodOSSelectorNodeLabelDoesNotMatch",
  "SupplementalGroupsPolicyNotSupported",
  "SysctlForbidden",
  "TopologyAffinityError",
  "UnexpectedAdmissionError",
  "UnexpectedPredicateFailureType",
  "UnknownReason",
  "VolumeAttachmentLimitExceeded",
]);

/** As upstream's SyncPodType: the first sync, a sync after a change to the spec, any other sync, the termination, or the cleanup of the pod. */
export type SyncKind = "create" | "update" | "sync" | "kill" | "terminated";

export interface WorkerMetrics {
  /** A pod was admitted and its first sync continues. */
  started(pod: Pod, now: WallTime): void;
  rejected(reason: string): void;
  /** A sync has succeeded or failed, this long after it was requested. */
  synced(kind: SyncKind, afterMs: number): void;
  /** A pod that was removed starts again, with the same UID. */
  restarted(pod: Pod): void;
  /** The runtime has a pod without a worker. */
  orphanFound(uid: PodUid): void;
}

export interface WorkerMetricsOptions {
  metrics: Metrics;
  /** False if nothing of the pod is running: dead containers and sandboxes are not a problem. */
  isRunning: (uid: PodUid) => boolean;
}

/** Metrics of the pod workers, with upstream's names. */
export function createWorkerMetrics({ metrics, isRunning }: WorkerMetricsOptions): WorkerMetrics {
  const syncs = metrics.histogram({
    name: "kubelet_pod_worker_duration_seconds",
    help: "Duration in seconds to sync a single pod, from the request to completion. Broken down by operation type: create, update, sync, kill or terminated",
    labels: ["operation_type"],
  });
  const startDelays = metrics.histogram({
    name: "kubelet_pod_worker_start_duration_seconds",
    help: "Duration in seconds from kubelet seeing a pod to starting a worker.",
  });
  const sizes = metrics.histogram({
    name: "kubelet_containers_per_pod_count",
    help: "The number of regular containers per started pod.",
    buckets: [1, 2, 4, 8, 16],
  });
  const restarts = metrics.counter({
    name: "kubelet_restarted_pods_total",
    help: "Pods that were removed and added again with the same UID; static is true if they are not from the API server",
    labels: ["static"],
  });
  const orphans = metrics.counter({
    name: "kubelet_orphaned_runtime_pods_total",
    help: "Running pods of the runtime without a pod worker",
  });
  const rejections = metrics.counter({
    name: "kubelet_admission_rejections_total",
    help: "Cumulative number pod admission rejections by the Kubelet.",
    labels: ["reason"],
  });
  for (const label of ["", "true"]) restarts.inc({ static: label }, 0);
  return {
    started(pod, now) {
      sizes.observe(pod.spec.containers.length);
      const ms = msBetween(wallTime(pod.metadata.annotations?.[annotationSeen] ?? ""), now);
      if (!Number.isNaN(ms)) startDelays.observe(Math.max(0, ms) / 1000);
    },
    rejected: (reason) => rejections.inc({ reason: rejectionLabel(reason) }),
    synced: (operation_type, afterMs) => syncs.observe({ operation_type }, Math.max(0, afterMs) / 1000),
    restarted: (pod) => restarts.inc({ static: isStatic(pod) ? "true" : "" }),
    orphanFound(uid) {
      if (isRunning(uid)) orphans.inc();
    },
  };
}

/** The metric label of a rejection: a reason can contain the name of any resource, and labels must be bounded. */
function rejectionLabel(reason: string): string {
  if (known.has(reason)) return reason;
  return reason.startsWith("OutOf") ? "OutOfExtendedResources" : "Other";
}
