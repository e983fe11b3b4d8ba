import type { Clock } from "../../../lib/base/clock.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import { latest, type MonotonicTime, msBetween, wallTime } from "../../../lib/base/time.ts";
import type { Pod, PodStatus, PodUid } from "../../../lib/model/pod.ts";
import { startBuckets } from "./status-metrics.ts";

export interface PodStartupLatencyOptions {
  metrics: Metrics;
  clock: Clock;
  /** The total run time of the terminated init containers of a pod. */
  initMs: (pod: Pod) => number;
}

interface Starting {
  /** Finished pulls, in order. */
  readonly pulls: PullSpan[];
}

export interface PullSpan {
  readonly from: MonotonicTime;
  readonly to: MonotonicTime;
}

/**
 * The startup latency of API pods: from their creation to when the API reports all of their containers as running. The SLI excludes image
 * pulls and init containers. As upstream's pod startup latency tracker.
 */
export class PodStartupLatency {
  readonly #o: PodStartupLatencyOptions;
  readonly #pods = new Map<PodUid, Starting>();
  readonly #total;
  readonly #sli;
  readonly #firstNetworkPod;
  #hasFirstNetworkPod = false;

  constructor(options: PodStartupLatencyOptions) {
    this.#o = options;
    const { metrics } = options;
    this.#total = metrics.histogram({
      name: "kubelet_pod_start_total_duration_seconds",
      help: "Seconds from when a pod was created to when all of its containers were observed as running",
      buckets: startBuckets,
    });
    this.#sli = metrics.histogram({
      name: "kubelet_pod_start_sli_duration_seconds",
      help: "Seconds from when a pod was created to when all of its containers were observed as running, without image pulls and init containers; stateless pods only",
      buckets: startBuckets,
    });
    this.#firstNetworkPod = metrics.gauge({
      name: "kubelet_first_network_pod_start_sli_duration_seconds",
      help: "kubelet_pod_start_sli_duration_seconds of the first pod that is not on the host network",
    });
  }

  /** A pod was received from the API. Pods that had already started when they were first received are not tracked. */
  received(pod: Pod): void {
    const { uid } = pod.metadata;
    const phase = pod.status?.phase;
    if (phase === "Failed" || phase === "Succeeded") return this.forget(uid);
    const starting = this.#pods.get(uid);
    if (!starting) {
      // The time that a pod was unschedulable is not startup latency of the node.
      if (!pod.status?.startTime && !wasUnschedulable(pod.status)) this.#pods.set(uid, { pulls: [] });
      return;
    }
    if (!allStarted(pod)) return;
    this.forget(uid);
    this.#observe(pod, starting);
  }

  /** An image pull for this pod starts; call the result when it has finished. */
  pulling(uid: PodUid): () => void {
    const from = this.#o.clock.monotonic();
    return () => this.#pods.get(uid)?.pulls.push({ from, to: this.#o.clock.monotonic() });
  }

  forget(uid: PodUid): void {
    this.#pods.delete(uid);
  }

  #observe(pod: Pod, { pulls }: Starting): void {
    const ageMs = msBetween(wallTime(pod.metadata.creationTimestamp ?? ""), this.#o.clock.wall());
    if (Number.isNaN(ageMs)) return;
    // Timestamps of the API have whole seconds only: the age may be negative.
    const totalMs = Math.max(0, ageMs);
    this.#total.observe(totalMs / 1000);
    if (isStateful(pod)) return;
    const sliMs = Math.max(0, totalMs - covered(pulls) - this.#o.initMs(pod));
    this.#sli.observe(sliMs / 1000);
    if (pod.spec.hostNetwork || this.#hasFirstNetworkPod) return;
    this.#hasFirstNetworkPod = true;
    this.#firstNetworkPod.set(sliMs / 1000);
  }
}

/** The time that the spans cover; overlaps count once. */
export function covered(spans: readonly PullSpan[]): number {
  let sum = 0;
  let until: MonotonicTime | undefined;
  for (const { from, to } of [...spans].sort((a, b) => msBetween(b.from, a.from))) {
    sum += Math.max(0, msBetween(latest(from, until ?? from), to));
    until = latest(to, until ?? to);
  }
  return sum;
}

function allStarted({ spec, status }: Pod): boolean {
  const statuses = status?.containerStatuses ?? [];
  return (
    statuses.length >= spec.containers.length && statuses.every(({ state }) => state?.running?.startedAt)
  );
}

function wasUnschedulable(status: PodStatus | undefined): boolean {
  return (status?.conditions ?? []).some((c) => c.type === "PodScheduled" && c.status === "False");
}

/** Volumes that outlive the pod are not under the control of the node. */
function isStateful({ spec }: Pod): boolean {
  return (spec.volumes ?? []).some(
    ({ secret, configMap, downwardAPI, emptyDir, projected }) =>
      !(secret || configMap || downwardAPI || emptyDir || projected),
  );
}
