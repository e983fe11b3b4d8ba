import type { Metrics } from "../../../lib/base/metrics.ts";
import { msBetween, type WallTime, wallTime } from "../../../lib/base/time.ts";
import { annotationSeen, isStatic, type Pod, type PodUid } from "../../../lib/model/pod.ts";
import { countedReason } from "./refusal-reasons.ts";

/** What a pass was for: the first one, one after a change of the spec, any other; or to end, or to release, the pod. */
export type SyncKind = "create" | "update" | "sync" | "kill" | "terminated";

export interface WorkerMetrics {
  /** A pod was let in: its first pass goes on. */
  began(pod: Pod, now: WallTime): void;
  refused(reason: string): void;
  /** A pass has ended, well or badly, so long after it was asked for. */
  passed(kind: SyncKind, afterMs: number): void;
  /** A pod that had been taken away begins again, with the same UID. */
  restarted(pod: Pod): void;
  /** The runtime has a pod that no worker knew of. */
  orphanFound(uid: PodUid): void;
}

export interface WorkerMetricsOptions {
  metrics: Metrics;
  /** False if the runtime has only dead things of the pod: those are leftovers, which are nothing unusual. */
  runs: (uid: PodUid) => boolean;
}

/** What the workers do, under the names that dashboards know. */
export function createWorkerMetrics({ metrics, runs }: WorkerMetricsOptions): WorkerMetrics {
  const passes = metrics.histogram({
    name: "kubelet_pod_worker_duration_seconds",
    help: "Time from when work on a pod was asked for to when it was done: create, update, sync, kill or terminated",
    labels: ["operation_type"],
  });
  const begins = metrics.histogram({
    name: "kubelet_pod_worker_start_duration_seconds",
    help: "Time from when a pod was first seen to when its worker began",
  });
  const sizes = metrics.histogram({
    name: "kubelet_containers_per_pod_count",
    help: "Regular containers of the pods that began",
    buckets: [1, 2, 4, 8, 16],
  });
  const restarts = metrics.counter({
    name: "kubelet_restarted_pods_total",
    help: "Pods that were taken away and came back with the same UID; static is true if they are not from the API",
    labels: ["static"],
  });
  const orphans = metrics.counter({
    name: "kubelet_orphaned_runtime_pods_total",
    help: "Pods that ran in the runtime and that no worker knew of",
  });
  const refusals = metrics.counter({
    name: "kubelet_admission_rejections_total",
    help: "Pods that this node refused to run, by reason",
    labels: ["reason"],
  });
  for (const label of ["", "true"]) restarts.inc({ static: label }, 0);
  return {
    began(pod, now) {
      sizes.observe(pod.spec.containers.length);
      const ms = msBetween(wallTime(pod.metadata.annotations?.[annotationSeen] ?? ""), now);
      if (!Number.isNaN(ms)) begins.observe(Math.max(0, ms) / 1000);
    },
    refused: (reason) => refusals.inc({ reason: countedReason(reason) }),
    passed: (operation_type, afterMs) => passes.observe({ operation_type }, Math.max(0, afterMs) / 1000),
    restarted: (pod) => restarts.inc({ static: isStatic(pod) ? "true" : "" }),
    orphanFound(uid) {
      if (runs(uid)) orphans.inc();
    },
  };
}
