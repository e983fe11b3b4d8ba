import type { Clock } from "../base/clock.ts";
import { type PodStatus, type PodUid, sourceOf } from "../model/pod.ts";
import type { PodWorker } from "../pipeline/pod-workers/pod-worker.ts";
import { isFinal } from "../pipeline/status-manager/phase-by-states.ts";
import type { Wanted } from "../server/explained.ts";
import { type ObservedPod, runningContainers } from "../state/observed-pods.ts";
import { explainPod, type PodExplanation, type PodFacts } from "./explain-pod.ts";
import { readinessOf } from "./pod-readiness.ts";

export interface PodExplanationsOptions {
  readonly nodeName: string;
  readonly clock: Clock;
  readonly workers: { all(): Iterable<PodWorker> };
  readonly statuses: { get(uid: PodUid): PodStatus | undefined };
  readonly observed: { get(uid: PodUid): ObservedPod | undefined };
  readonly probes: { troubles(uid: PodUid): PodFacts["troubles"] };
  readonly runtime: { stopping(uid: PodUid): { id: string; endsAt: number; inHook: boolean }[] };
  readonly volumes: { waiting(uid: PodUid): string[] };
  /** Whether the API has the newest status of a pod; true also if there is no API. */
  readonly isWritten: (uid: PodUid) => boolean;
}

export interface Explanations {
  readonly node: string;
  readonly at: string;
  readonly pods: PodExplanation[];
}

/** Why pods are not ready, made when somebody asks: nothing is kept for it but each worker's own history. */
export class PodExplanations {
  readonly #o: PodExplanationsOptions;

  constructor(options: PodExplanationsOptions) {
    this.#o = options;
  }

  /** Undefined if there is no such pod. */
  explain(wanted: Wanted): Explanations | undefined {
    const { clock, nodeName } = this.#o;
    const workers = [...this.#o.workers.all()];
    const chosen =
      "pod" in wanted
        ? workers.filter(({ id }) => isMeant(wanted.pod, id, nodeName))
        : workers.filter((worker) => wanted.all || this.#isOnItsWay(worker));
    if ("pod" in wanted && chosen.length === 0) return undefined;
    const pods = chosen.map((worker) => explainPod(this.#facts(worker)));
    pods.sort((a, b) => (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1));
    return { node: nodeName, at: new Date(clock.now()).toISOString(), pods };
  }

  /** Not ready yet, or on its way out. A pod that has come to its own end is neither. */
  #isOnItsWay(worker: PodWorker): boolean {
    const status = this.#o.statuses.get(worker.id.uid);
    switch (worker.phase) {
      case "syncing":
        return !isReady(worker, status) && !isFinal(status?.phase);
      case "terminating":
        return true;
      case "terminated":
        return worker.blockedOn !== undefined || this.#unwrittenSince(worker) !== undefined;
      default:
        return worker.phase satisfies never;
    }
  }

  #facts(worker: PodWorker): PodFacts {
    const { clock, observed, probes, runtime, statuses, volumes } = this.#o;
    const { id, pod, phase, blockedOn, history, verdict, waiting } = worker;
    const { uid } = id;
    const status = statuses.get(uid);
    const stops = runtime.stopping(uid);
    return {
      ...{ id, phase, blockedOn, history, verdict, waiting, status },
      source: pod ? sourceOf(pod) : "none",
      isReady: isReady(worker, status),
      troubles: probes.troubles(uid),
      running: runningContainers(observed.get(uid)).map((container) => {
        const stop = stops.find((s) => s.id === container.id);
        return { name: container.name, ...(stop && { stop }) };
      }),
      volumes: phase === "syncing" ? volumes.waiting(uid) : [],
      unwrittenSince: this.#unwrittenSince(worker),
      now: clock.now(),
    };
  }

  #unwrittenSince({ id, pod, phase, removed, history }: PodWorker): number | undefined {
    if (phase !== "terminated" || removed || pod === undefined) return undefined;
    if (pod.metadata.deletionTimestamp === undefined && this.#o.isWritten(id.uid)) return undefined;
    if (sourceOf(pod) !== "api") return undefined;
    return history.records.at(-1)?.endedAt ?? history.beganAt;
  }
}

function isReady({ pod, phase }: PodWorker, status: PodStatus | undefined): boolean {
  return phase === "syncing" && pod !== undefined && status !== undefined && readinessOf(pod, status).isReady;
}

/** A static pod is known by the name in its manifest, and by that with the node's name behind it. */
export function isMeant(
  wanted: string,
  id: { readonly namespace: string; readonly name: string; readonly uid: string },
  nodeName: string,
): boolean {
  if (wanted === id.uid) return true;
  const [first = "", second] = wanted.split("/", 2);
  const [namespace, name] = second === undefined ? [undefined, first] : [first, second];
  if (namespace !== undefined && namespace !== id.namespace) return false;
  return id.name === name || id.name === `${name}-${nodeName}`;
}
