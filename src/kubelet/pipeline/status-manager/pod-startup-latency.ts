import type { Clock } from "../../../lib/base/clock.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import { latest, type MonotonicTime, msBetween, wallTime } from "../../../lib/base/time.ts";
import type { Pod, PodStatus, PodUid } from "../../../lib/model/pod.ts";
import { startBuckets } from "./status-metrics.ts";

export interface PodStartupLatencyOptions {
  metrics: Metrics;
  clock: Clock;
  /** How long init containers of a pod have run by now, all of those that have ended. */
  initMs: (pod: Pod) => number;
}

interface Starting {
  /** Pulls that are over, in the order in which they ended. */
  readonly pulls: PullSpan[];
}

export interface PullSpan {
  readonly from: MonotonicTime;
  readonly to: MonotonicTime;
}

/**
 * How long pods of the API take from their creation to when everybody can see that all of their containers run, and how much
 * of that is the node's own: without pulls and init containers, which take what they take.
 */
export class PodStartupLatency {
  readonly #o: PodStartupLatencyOptions;
  readonly #pods = new Map<PodUid, Starting>();
  readonly #total;
  readonly #own;
  readonly #firstWithNetwork;
  #hasFirst = false;

  constructor(options: PodStartupLatencyOptions) {
    this.#o = options;
    const { metrics } = options;
    this.#total = metrics.histogram({
      name: "kubelet_pod_start_total_duration_seconds",
      help: "Seconds from when a pod was created to when all of its containers were seen to run",
      buckets: startBuckets,
    });
    this.#own = metrics.histogram({
      name: "kubelet_pod_start_sli_duration_seconds",
      help: "The same without the time that pulls and init containers took; only of pods without state",
      buckets: startBuckets,
    });
    this.#firstWithNetwork = metrics.gauge({
      name: "kubelet_first_network_pod_start_sli_duration_seconds",
      help: "The same of the first pod with a network of its own",
    });
  }

  /** The API has the pod like this. Only those count that had not begun when they were seen first. */
  seen(pod: Pod): void {
    const { uid } = pod.metadata;
    const phase = pod.status?.phase;
    if (phase === "Failed" || phase === "Succeeded") return this.gone(uid);
    const starting = this.#pods.get(uid);
    if (!starting) {
      // One that waited for a place in the cluster waited for no node.
      if (!pod.status?.startTime && !wasUnschedulable(pod.status)) this.#pods.set(uid, { pulls: [] });
      return;
    }
    if (!allStarted(pod)) return;
    this.gone(uid);
    this.#count(pod, starting);
  }

  /** A pull for this pod begins; to be called when it is over. */
  pulling(uid: PodUid): () => void {
    const from = this.#o.clock.monotonic();
    return () => this.#pods.get(uid)?.pulls.push({ from, to: this.#o.clock.monotonic() });
  }

  gone(uid: PodUid): void {
    this.#pods.delete(uid);
  }

  #count(pod: Pod, { pulls }: Starting): void {
    const ageMs = msBetween(wallTime(pod.metadata.creationTimestamp ?? ""), this.#o.clock.wall());
    if (Number.isNaN(ageMs)) return;
    // The API knows whole seconds only.
    const totalMs = Math.max(0, ageMs);
    this.#total.observe(totalMs / 1000);
    if (hasState(pod)) return;
    const ownMs = Math.max(0, totalMs - covered(pulls) - this.#o.initMs(pod));
    this.#own.observe(ownMs / 1000);
    if (pod.spec.hostNetwork || this.#hasFirst) return;
    this.#hasFirst = true;
    this.#firstWithNetwork.set(ownMs / 1000);
  }
}

/** How much time there is in spans, what is in several of them counted once. */
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

/** What a pod may keep beyond its own life is not the node's to bring up quickly. */
function hasState({ spec }: Pod): boolean {
  return (spec.volumes ?? []).some(
    ({ secret, configMap, downwardAPI, emptyDir, projected }) =>
      !(secret || configMap || downwardAPI || emptyDir || projected),
  );
}
