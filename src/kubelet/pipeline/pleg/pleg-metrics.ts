import type { Metrics } from "../../../lib/base/metrics.ts";
import { epochMs, type WallTime } from "../../../lib/base/time.ts";
import { type ObservedContainer, type ObservedPod, readySandbox } from "../../state/observed-pods.ts";

export interface PlegMetrics {
  /** A look at all pods begins; the one before it that got an answer began so long ago. */
  relistBegins(sinceLastMs: number | undefined): void;
  /** It has ended, well or badly. */
  relistEnds(tookMs: number): void;
  /** The runtime has answered a look at all pods that began then. */
  listed(at: WallTime): void;
  /** A look at one pod has ended, well or badly. */
  podRelisted(tookMs: number): void;
}

/** The looks at the runtime, and what they found, under the names that dashboards know. */
export function createPlegMetrics(metrics: Metrics, observed: { all(): Iterable<ObservedPod> }): PlegMetrics {
  const durations = metrics.histogram({
    name: "kubelet_pleg_relist_duration_seconds",
    help: "How long a look at all pods of the runtime took",
  });
  const intervals = metrics.histogram({
    name: "kubelet_pleg_relist_interval_seconds",
    help: "Time from one look at all pods of the runtime to the next",
  });
  const podDurations = metrics.histogram({
    name: "kubelet_pleg_pod_relist_duration_seconds",
    help: "How long a look at one pod of the runtime took",
  });
  const lastSeen = metrics.gauge({
    name: "kubelet_pleg_last_seen_seconds",
    help: "When the last look at all pods began that the runtime answered, in seconds since the epoch",
  });
  // Dashboards ask for it. Nothing is ever discarded here: there is no queue that could be full.
  metrics.counter({ name: "kubelet_pleg_discard_events", help: "Pod events that were discarded" });
  countRunning(metrics, observed);
  return {
    relistBegins(sinceLastMs) {
      if (sinceLastMs !== undefined) intervals.observe(sinceLastMs / 1000);
    },
    relistEnds: (tookMs) => durations.observe(tookMs / 1000),
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
