import type { Metrics } from "../../../lib/base/metrics.ts";
import { msBetween, type WallTime, wallTime } from "../../../lib/base/time.ts";
import { annotationSeen, type ContainerStatus, type Pod, type PodStatus } from "../../../lib/model/pod.ts";

export interface StatusMetrics {
  /** The status of a pod changed; `previous` is the status by this agent or in the API. */
  containersChanged(previous: PodStatus | undefined, current: PodStatus): void;
  /** A pod that this agent has observed as pending is running. */
  podRunning(pod: Pod, now: WallTime): void;
}

/** Up to an hour, with bounds for SLOs. */
export const startBuckets = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700,
  3600,
];

const lists = [
  ["init_container", "initContainerStatuses"],
  ["container", "containerStatuses"],
  ["ephemeral_container", "ephemeralContainerStatuses"],
] as const;

/** Metrics that are derived from pod statuses, with upstream's names. */
export function createStatusMetrics(metrics: Metrics): StatusMetrics {
  const terminations = metrics.counter({
    name: "kubelet_terminated_containers_total",
    help: "Terminated containers, by type, exit code and reason",
    labels: ["container_type", "exit_code", "reason"],
  });
  const starts = metrics.histogram({
    name: "kubelet_pod_start_duration_seconds",
    help: "Duration in seconds from kubelet seeing a pod for the first time to the pod starting to run",
    buckets: startBuckets,
  });
  return {
    containersChanged(previous, current) {
      for (const end of newTerminations(previous, current))
        terminations.inc({ container_type: end.type, exit_code: String(end.exitCode), reason: end.reason });
    },
    podRunning(pod, now) {
      const ms = msBetween(wallTime(pod.metadata.annotations?.[annotationSeen] ?? ""), now);
      if (!Number.isNaN(ms)) starts.observe(Math.max(0, ms) / 1000);
    },
  };
}

/** The containers that terminated between two statuses. */
export function newTerminations(
  previous: PodStatus | undefined,
  current: PodStatus,
): { type: string; exitCode: number; reason: string }[] {
  return lists.flatMap(([type, list]) =>
    (current[list] ?? []).flatMap((status) => {
      const end = status.state?.terminated;
      const old = previous?.[list]?.find((s) => s.name === status.name);
      if (!end || old?.state?.terminated || hadTerminated(old, end.containerID)) return [];
      return [{ type, exitCode: end.exitCode, reason: end.reason ?? "" }];
    }),
  );
}

/** A container that waits for its restart has the same termination in its state again if the pod terminates in the meantime. */
function hadTerminated(old: ContainerStatus | undefined, id: string | undefined): boolean {
  return Boolean(id) && old?.lastState?.terminated?.containerID === id;
}
