import type { Clock } from "../../lib/base/clock.ts";
import type { Health } from "../../lib/base/component.ts";
import { Listeners } from "../../lib/base/listeners.ts";
import { summarizeContainers } from "../../lib/model/container-summary.ts";
import { type Pod, type PodStatus, type PodUid, sourceOf } from "../../lib/model/pod.ts";
import type { PullProgress } from "../../lib/model/pull-progress.ts";
import type { PodSyncStatus } from "../state/pod-sync-status.ts";
import { errorCause } from "./pod-cause.ts";
import { readCause } from "./reading/read-cause.ts";
import { waitText } from "./wait-text.ts";

/** One pod as shown to users. */
export interface PodRow {
  namespace: string;
  name: string;
  uid: string;
  source: string;
  phase: string;
  /** Ready and total containers, sidecars included, as in `kubectl get pods`. */
  ready: string;
  restarts: number;
  ip: string;
  startTime: string;
  /** The reason why the pod waits, in one line; empty if it is not blocked. */
  blockedOn: string;
  /** The same as a sentence, if it is an error of a known form. */
  why: string;
  blockedSince: string;
  status: PodStatus | undefined;
}

export interface PodOverviewOptions {
  clock: Clock;
  workers: { all(): Iterable<PodSyncStatus>; get(uid: PodUid): PodSyncStatus | undefined };
  statuses: { get(uid: PodUid): PodStatus | undefined };
  connection: { health(): Health };
  pulls: { ofPod(uid: PodUid): readonly PullProgress[] };
}

/** Being stopped, or stopped and being removed. */
function isTerminating(worker: PodSyncStatus): boolean {
  return worker.phase === "terminating" || (worker.phase === "terminated" && worker.removed);
}

function whyBlocked({ id, pod, history }: PodSyncStatus, text: string): string {
  const { kind = "other", container, error } = history.current ?? {};
  // The text of volumes includes the reason.
  if (error === undefined && !(kind === "volumes" && text.includes(": "))) return text;
  const context = { id, pod, source: pod ? sourceOf(pod) : "none", nodeName: "" };
  const step = { kind, error: text, ...(container !== undefined && { container }) };
  return readCause(errorCause(context, step)).sentence;
}

/** The pods of the node, for the terminal and the local API. */
export class PodOverview {
  readonly #o: PodOverviewOptions;
  readonly #listeners = new Listeners();
  #isScheduled = false;

  constructor(options: PodOverviewOptions) {
    this.#o = options;
  }

  rows(): PodRow[] {
    const rows = [...this.#o.workers.all()].map((worker): PodRow => {
      const status = this.#o.statuses.get(worker.id.uid);
      const { blockedOn, pod } = worker;
      const text = waitText(worker, this.#o.pulls.ofPod(worker.id.uid)) ?? "";
      const { ready, total, restarts } = summarizeContainers(
        { spec: pod?.spec ?? { containers: [] }, ...(status && { status }) },
        "",
      );
      return {
        namespace: worker.id.namespace,
        name: worker.id.name,
        uid: worker.id.uid,
        source: pod ? sourceOf(pod) : "none",
        phase: isTerminating(worker) ? "Terminating" : (status?.phase ?? "Unknown"),
        ready: `${ready}/${total}`,
        restarts,
        ip: status?.podIP ?? "",
        startTime: String(status?.startTime ?? ""),
        blockedOn: text,
        why: whyBlocked(worker, text),
        blockedSince: blockedOn ? new Date(blockedOn.since).toISOString() : "",
        status,
      };
    });
    return rows.sort((a, b) => (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1));
  }

  pod(uid: PodUid): Pod | undefined {
    return this.#o.workers.get(uid)?.pod;
  }

  runtime(): Health {
    return this.#o.connection.health();
  }

  onChange(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Waits until a condition on the pods holds, for at most `withinMs`. */
  until(condition: () => boolean, withinMs: number): Promise<void> {
    if (condition()) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        unsubscribe();
        cancel();
        resolve();
      };
      const unsubscribe = this.onChange(() => condition() && end());
      const cancel = this.#o.clock.after(withinMs, end);
    });
  }

  /** Many changes in one event loop turn notify listeners once. */
  changed(_uid: PodUid): void {
    if (this.#isScheduled || this.#listeners.size === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#listeners.notify();
    });
  }
}
