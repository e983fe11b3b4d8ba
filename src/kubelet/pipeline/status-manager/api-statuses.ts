import type { Component } from "../../../lib/base/component.ts";
import { isStatic, type Pod, type PodStatus, type PodUid } from "../../../lib/model/pod.ts";
import { isTerminalPhase } from "../../../lib/model/pod-phase.ts";
import type { ApiPods } from "../../state/api-pods.ts";
import { isMirror } from "../../state/desired-pods.ts";
import type { ObservedPods } from "../../state/observed-pods.ts";
import type { PodStatuses } from "../../state/pod-statuses.ts";
import type { PodSyncStatus, WorkerPhase } from "../../state/pod-sync-status.ts";
import { ApiStatusWriter, type ApiStatusWriterOptions } from "./api-writer.ts";

export interface ApiStatusesOptions
  extends Pick<ApiStatusWriterOptions, "api" | "clock" | "logger" | "metrics"> {
  readonly workers: { get(uid: PodUid): Pick<PodSyncStatus, "pod" | "phase"> | undefined };
  readonly statuses: Pick<PodStatuses, "get" | "hasMirrorTimes">;
  readonly apiPods: Pick<ApiPods, "get" | "statusOf">;
  readonly observed: Pick<ObservedPods, "get">;
}

/** Decides which status of each pod is written to the API, and when a pod may be deleted there. */
export class ApiStatuses {
  readonly #o: ApiStatusesOptions;
  readonly #writer: ApiStatusWriter;
  /** Pods whose volumes and cgroup are removed. */
  readonly #reclaimed = new Set<PodUid>();
  /** Pods that are or were in the runtime. */
  readonly #ran = new Set<PodUid>();

  constructor(options: ApiStatusesOptions) {
    const { apiPods, workers, statuses, api, clock, logger, metrics } = options;
    this.#o = options;
    this.#writer = new ApiStatusWriter({
      api,
      clock,
      logger,
      metrics,
      apiPod: (pod) => {
        // Until the status of a static pod has the times of its mirror, a write would change them.
        const isEarly = apiPods.statusOf(pod) !== undefined && !statuses.hasMirrorTimes(pod.metadata.uid);
        return isStatic(pod) && isEarly ? undefined : apiPods.get(pod);
      },
      couldHaveRunningContainers: (uid) => (workers.get(uid)?.phase ?? "terminated") !== "terminated",
      resourcesReclaimed: (uid) => this.#reclaimed.has(uid),
    });
  }

  get component(): Component {
    return this.#writer;
  }

  /** Writes the current status of the pod to the API, and deletes the pod if it is being deleted and has terminated. */
  sync(uid: PodUid): void {
    const pod = this.#o.workers.get(uid)?.pod;
    const status = this.#o.statuses.get(uid);
    if (pod && status) this.#set(pod, status);
    else this.#writer.wake(uid);
  }

  phaseChanged(uid: PodUid, phase: WorkerPhase): void {
    if (phase !== "terminated") this.#reclaimed.delete(uid);
  }

  /** Volumes and cgroup of the pod are removed. */
  resourcesReclaimed(uid: PodUid): void {
    this.#reclaimed.add(uid);
  }

  forget(uid: PodUid): void {
    this.#reclaimed.delete(uid);
    this.#ran.delete(uid);
    this.#writer.forget(uid);
  }

  /** The pod in the API has changed or is deleted. */
  apiPodChanged(pod: Pod): void {
    if (!isMirror(pod)) this.#writer.wake(pod.metadata.uid);
  }

  /** True if the API has the newest status of the pod. */
  isWritten(uid: PodUid): boolean {
    return this.#writer.isWritten(uid);
  }

  /** Writes a status that waits for the next one. Never fails, and does not wait for long. */
  flush(uid: PodUid): Promise<void> {
    return this.#writer.flush(uid);
  }

  #set(pod: Pod, status: PodStatus): void {
    const { uid } = pod.metadata;
    if (this.#o.observed.get(uid) !== undefined) this.#ran.add(uid);
    const inApi = isStatic(pod) ? undefined : this.#o.apiPods.get(pod)?.status;
    // If a pod terminated before this agent observed it, the status in the API is more accurate.
    this.#writer.set(pod, inApi && isTerminalPhase(inApi.phase) && !this.#ran.has(uid) ? inApi : status);
  }
}
