import type { Metrics } from "../../../lib/base/metrics.ts";
import { msBetween, type WallTime, wallTime } from "../../../lib/base/time.ts";
import { annotationSeen, type ContainerStatus, type Pod, type PodStatus } from "../../../lib/model/pod.ts";

export interface StatusMetrics {
  /** A pod has this status now, and had that one, of this agent or of an API, before. */
  containersChanged(before: PodStatus | undefined, after: PodStatus): void;
  /** A pod that this agent has seen pending runs. */
  podRuns(pod: Pod, now: WallTime): void;
}

/** Bounds that people set goals for, up to an hour. */
export const startBuckets = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700,
  3600,
];

const lists = [
  ["init_container", "initContainerStatuses"],
  ["container", "containerStatuses"],
  ["ephemeral_container", "ephemeralContainerStatuses"],
] as const;

/** What the statuses of pods show, under the names that dashboards know. */
export function createStatusMetrics(metrics: Metrics): StatusMetrics {
  const ends = metrics.counter({
    name: "kubelet_terminated_containers_total",
    help: "Containers that have ended, by type, exit code and reason",
    labels: ["container_type", "exit_code", "reason"],
  });
  const starts = metrics.histogram({
    name: "kubelet_pod_start_duration_seconds",
    help: "Time from when a pod was first seen to when it ran",
    buckets: startBuckets,
  });
  return {
    containersChanged(before, after) {
      for (const end of newEnds(before, after))
        ends.inc({ container_type: end.type, exit_code: String(end.exitCode), reason: end.reason });
    },
    podRuns(pod, now) {
      const ms = msBetween(wallTime(pod.metadata.annotations?.[annotationSeen] ?? ""), now);
      if (!Number.isNaN(ms)) starts.observe(Math.max(0, ms) / 1000);
    },
  };
}

/** The containers that have ended from one status to the next; nothing before it is no end either. */
export function newEnds(
  before: PodStatus | undefined,
  after: PodStatus,
): { type: string; exitCode: number; reason: string }[] {
  return lists.flatMap(([type, list]) =>
    (after[list] ?? []).flatMap((status) => {
      const end = status.state?.terminated;
      const old = before?.[list]?.find((s) => s.name === status.name);
      if (!end || old?.state?.terminated || hadEnded(old, end.containerID)) return [];
      return [{ type, exitCode: end.exitCode, reason: end.reason ?? "" }];
    }),
  );
}

/** A container that waits to be restarted shows its end a second time if the pod ends meanwhile. */
function hadEnded(old: ContainerStatus | undefined, id: string | undefined): boolean {
  return Boolean(id) && old?.lastState?.terminated?.containerID === id;
}
