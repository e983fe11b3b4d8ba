import type { Metrics } from "../../../lib/base/metrics.ts";
import { epochMs, type WallTime } from "../../../lib/base/time.ts";
import { type ObservedContainer, type ObservedPod, readySandbox } from "../../state/observed-pods.ts";

export interface PlegMetrics {
  /** A relist starts; the last one that listed the runtime started this long ago. */
  relistStarted(sinceLastMs: number | undefined): void;
  /** A relist has succeeded or failed. */
  relistFinished(tookMs: number): void;
  /** The runtime was listed at this time. */
  listed(at: WallTime): void;
  /** The refresh of one pod has succeeded or failed. */
  podRelisted(tookMs: number): void;
}

/** Metrics of PLEG, with upstream's names. */
export function createPlegMetrics(metrics: Metrics, observed: { all(): Iterable<ObservedPod> }): PlegMetrics {
  const durations = metrics.histogram({
    name: "kubelet_pleg_relist_duration_seconds",
    help: "Duration of relisting all pods of the runtime",
  });
  const intervals = metrics.histogram({
    name: "kubelet_pleg_relist_interval_seconds",
    help: "Interval between relists of all pods of the runtime",
  });
  const podDurations = metrics.histogram({
    name: "kubelet_pleg_pod_relist_duration_seconds",
    help: "Duration of relisting one pod of the runtime",
  });
  const lastSeen = metrics.gauge({
    name: "kubelet_pleg_last_seen_seconds",
    help: "Time of the last relist that listed the runtime, in seconds since the epoch",
  });
  // For dashboards. Nothing is ever discarded: there is no bounded queue.
  metrics.counter({ name: "kubelet_pleg_discard_events", help: "Pod events that were discarded" });
  countRunning(metrics, observed);
  return {
    relistStarted(sinceLastMs) {
      if (sinceLastMs !== undefined) intervals.observe(sinceLastMs / 1000);
    },
    relistFinished: (tookMs) => durations.observe(tookMs / 1000),
    listed: (at) => lastSeen.set(Math.floor(epochMs(at) / 1000)),
    podRelisted: (tookMs) => podDurations.observe(tookMs / 1000),
  };
}

function countRunning(metrics: Metrics, observed: { all(): Iterable<ObservedPod> }): void {
  metrics.gauge({
    name: "kubelet_running_pods",
    help: "Pods that have a running sandbox",
    collect: (gauge) => gauge.set([...observed.all()].filter(readySandbox).length),
  });
  metrics.gauge({
    name: "kubelet_running_containers",
    help: "Containers that the runtime has, by state",
    labels: ["container_state"],
    collect(gauge) {
      const counts: Record<ObservedContainer["state"], number> = {
        created: 0,
        running: 0,
        exited: 0,
        unknown: 0,
      };
      for (const pod of observed.all()) for (const { state } of pod.containers) counts[state]++;
      for (const [container_state, count] of Object.entries(counts)) gauge.set({ container_state }, count);
    },
  });
}
