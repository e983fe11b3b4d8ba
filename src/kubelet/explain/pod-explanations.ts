import { type Clock, wallTimeOf } from "../../lib/base/clock.ts";
import { dateOf, epochMs, type MonotonicTime } from "../../lib/base/time.ts";
import { containerIdIn, type OomKill } from "../../lib/model/oom-kill.ts";
import { type PodStatus, type PodUid, sourceOf } from "../../lib/model/pod.ts";
import { isTerminalPhase } from "../../lib/model/pod-phase.ts";
import type { PullProgress } from "../../lib/model/pull-progress.ts";
import { readinessOf } from "../../lib/model/readiness.ts";
import type { ApiStatuses } from "../pipeline/status-manager/api-statuses.ts";
import type { ProbeFailure } from "../pods/probes/probe-worker.ts";
import { type ObservedPod, runningContainers } from "../state/observed-pods.ts";
import type { PodSyncStatus } from "../state/pod-sync-status.ts";
import type { ProbeResultChange } from "../state/probe-results.ts";
import type { ProbeKill } from "./container-termination.ts";
import { explainPod, type PodInfo } from "./explain-pod.ts";
import { FailedPods, listedMs } from "./failed-pods.ts";
import type { PodExplanation } from "./pod-explanation.ts";

/** Which pods to explain: those that are not ready, all, or one. */
export type PodQuery = { readonly all: boolean } | { readonly pod: string };

export interface PodExplanationsOptions {
  readonly nodeName: string;
  readonly clock: Clock;
  readonly workers: { all(): Iterable<PodSyncStatus> };
  readonly statuses: { get(uid: PodUid): PodStatus | undefined };
  readonly observed: { get(uid: PodUid): ObservedPod | undefined };
  readonly probes: { failures(uid: PodUid): readonly ProbeFailure[] };
  readonly runtime: { stopping(uid: PodUid): { id: string; endsAt: MonotonicTime; inHook: boolean }[] };
  readonly volumes: { waiting(uid: PodUid): string[] };
  readonly pulls: { ofPod(uid: PodUid): PullProgress[] };
  /** Undefined if there is no API. */
  readonly apiStatuses: Pick<ApiStatuses, "isWritten"> | undefined;
}

export interface Explanations {
  readonly node: string;
  readonly at: string;
  readonly pods: PodExplanation[];
}

/** Killed containers to keep per pod. Only the newest of each name is looked up. */
const maxKills = 16;
/** A limit for all containers of the machine, including those of other runtimes. */
const maxOomKills = 256;

/**
 * Why pods are not ready, computed on request. In addition to the history of each worker it keeps the results of probes whose
 * failure killed a container, the OOM kills of containers, and the explanations of failed pods that were removed.
 */
export class PodExplanations {
  readonly #o: PodExplanationsOptions;
  readonly #failed = new FailedPods();
  readonly #kills = new Map<PodUid, ProbeKill[]>();
  /** By container ID, oldest first. */
  readonly #oomKills = new Map<string, OomKill>();

  constructor(options: PodExplanationsOptions) {
    this.#o = options;
  }

  /** A container is killed when its liveness or startup probe fails; its successor does not have that result. */
  probeResultChanged({ uid, kind, id, outcome }: ProbeResultChange): void {
    if (outcome !== "failure" || kind === "readiness") return;
    const container = this.#o.observed.get(uid)?.containers.find((c) => c.id === id)?.name;
    const failure = this.#probeFailures(uid).find(
      (t) => t.kind === kind && (container === undefined || t.container === container),
    );
    if (!failure) return;
    this.#kills.set(uid, [...(this.#kills.get(uid) ?? []), { ...failure, id }].slice(-maxKills));
  }

  /** The kernel killed a process, perhaps of a container. */
  oomKilled(kill: OomKill): void {
    const id = containerIdIn(kill.victimCgroup);
    if (id === undefined) return;
    this.#oomKills.delete(id);
    this.#oomKills.set(id, kill);
    const [oldest] = this.#oomKills.keys();
    if (this.#oomKills.size > maxOomKills && oldest !== undefined) this.#oomKills.delete(oldest);
  }

  /** The pod was removed: if it failed, its explanation is kept for a while. Call it before its status is dropped. */
  podRemoved(worker: PodSyncStatus): void {
    const explanation = explainPod(this.#info(worker));
    this.#kills.delete(worker.id.uid);
    if (explanation.failedAt !== null) this.#failed.add(explanation, this.#o.clock.wall());
  }

  /** Undefined if there is no such pod. */
  explain(query: PodQuery): Explanations | undefined {
    const { clock, nodeName } = this.#o;
    const workers = [...this.#o.workers.all()];
    const known = workers.map((worker) => ({ worker, ...worker.id }));
    const failed = this.#failed.all(clock.wall()).map((explanation) => ({ explanation, ...explanation }));
    const matching = [...known, ...failed].filter(
      (pod) => !("pod" in query) || matchesPod(query.pod, pod, nodeName),
    );
    if ("pod" in query && matching.length === 0) return undefined;
    const pods = matching.flatMap((pod) => {
      const explained = "worker" in pod ? this.ofWorker(pod.worker) : pod.explanation;
      const listed =
        "pod" in query || query.all || !("worker" in pod) || this.#isListed(pod.worker, explained);
      return listed ? [explained] : [];
    });
    // An existing pod comes before removed pods of its name.
    pods.sort((a, b) => compare(fullName(a), fullName(b)) || compare(a.goneAt ?? "", b.goneAt ?? ""));
    return { node: nodeName, at: dateOf(clock.wall()).toISOString(), pods };
  }

  /** The explanation of one pod. */
  ofWorker(worker: PodSyncStatus): PodExplanation {
    return explainPod(this.#info(worker));
  }

  /** True for a pod that is not ready, terminates, restarts, or has failed recently, and false for a completed one. */
  #isListed(worker: PodSyncStatus, { cause, failedAt }: PodExplanation): boolean {
    if (failedAt !== null && epochMs(this.#o.clock.wall()) - Date.parse(failedAt) < listedMs) return true;
    const status = this.#o.statuses.get(worker.id.uid);
    switch (worker.phase) {
      case "syncing":
        return !isTerminalPhase(status?.phase) && (cause !== null || !isReady(worker, status));
      case "terminating":
        return true;
      case "terminated":
        return worker.blockedOn !== undefined || this.#unwrittenSince(worker) !== undefined;
      default:
        return worker.phase satisfies never;
    }
  }

  #info(worker: PodSyncStatus): PodInfo {
    const { clock, nodeName, observed, pulls, runtime, statuses, volumes } = this.#o;
    const { id, pod, phase, blockedOn, history, failure, waiting, terminatedByItself } = worker;
    const { uid } = id;
    const status = statuses.get(uid);
    const stops = runtime.stopping(uid);
    return {
      id,
      nodeName,
      pod,
      phase,
      blockedOn,
      history,
      failure,
      waiting,
      status,
      terminatedByItself,
      source: pod ? sourceOf(pod) : "none",
      isReady: isReady(worker, status),
      probeFailures: this.#probeFailures(uid),
      kills: this.#kills.get(uid) ?? [],
      oomKills: this.#oomKills,
      running: runningContainers(observed.get(uid)).map((container) => {
        const stop = stops.find((s) => s.id === container.id);
        const shown = stop && { ...stop, endsAt: epochMs(wallTimeOf(clock, stop.endsAt)) };
        return { name: container.name, ...(shown && { stop: shown }) };
      }),
      volumes: phase === "syncing" ? volumes.waiting(uid) : [],
      pulls: pulls.ofPod(uid),
      unwrittenSince: this.#unwrittenSince(worker),
      now: epochMs(clock.wall()),
    };
  }

  #probeFailures(uid: PodUid): PodInfo["probeFailures"] {
    return this.#o.probes.failures(uid).map((failure) => ({ ...failure, at: epochMs(failure.at) }));
  }

  #unwrittenSince({ id, pod, phase, removed, history }: PodSyncStatus): number | undefined {
    if (phase !== "terminated" || removed || pod === undefined) return undefined;
    if (pod.metadata.deletionTimestamp === undefined && (this.#o.apiStatuses?.isWritten(id.uid) ?? true))
      return undefined;
    if (sourceOf(pod) !== "api") return undefined;
    return history.records.at(-1)?.endedAt ?? history.startedAt;
  }
}

function isReady({ pod, phase }: PodSyncStatus, status: PodStatus | undefined): boolean {
  return phase === "syncing" && pod !== undefined && status !== undefined && readinessOf(pod, status).isReady;
}

function fullName({ namespace, name }: { namespace: string; name: string }): string {
  return `${namespace}/${name}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A static pod matches the name in its manifest, and that name with the node name appended. */
export function matchesPod(
  reference: string,
  id: { readonly namespace: string; readonly name: string; readonly uid: string },
  nodeName: string,
): boolean {
  if (reference === id.uid) return true;
  const [first = "", second] = reference.split("/", 2);
  const [namespace, name] = second === undefined ? [undefined, first] : [first, second];
  if (namespace !== undefined && namespace !== id.namespace) return false;
  return id.name === name || id.name === `${name}-${nodeName}`;
}
