import type { Component } from "../../../lib/base/component.ts";
import { isStatic, type Pod, type PodStatus, type PodUid } from "../../../lib/model/pod.ts";
import { isMirror } from "../../state/desired-pods.ts";
import type { WorkerPhase } from "../../state/pod-sync-status.ts";
import { ApiStatusWriter, type ApiStatusWriterOptions } from "./api-writer.ts";
import { isFinal } from "./phase.ts";

export interface ApiStatusesOptions
  extends Pick<ApiStatusWriterOptions, "api" | "clock" | "logger" | "metrics"> {
  readonly worker: (
    uid: PodUid,
  ) => { readonly pod: Pod | undefined; readonly phase: WorkerPhase } | undefined;
  readonly status: (uid: PodUid) => PodStatus | undefined;
  /** The pod as it was last watched in the API; for a static pod its mirror. */
  readonly apiPod: (pod: Pod) => Pod | undefined;
  /** False while the status of a static pod does not have the times of this mirror yet: written, it would change them back and forth. */
  readonly mayWriteMirror: (pod: Pod, mirror: Pod) => boolean;
  /** The runtime has something of the pod. */
  readonly isInRuntime: (uid: PodUid) => boolean;
}

/** Which status of each pod the API gets, and when a pod may be deleted there. */
export class ApiStatuses {
  readonly #o: ApiStatusesOptions;
  readonly #writer: ApiStatusWriter;
  /** Pods of which nothing is left on the node. */
  readonly #cleared = new Set<PodUid>();
  /** Pods of which the runtime has or had something. */
  readonly #ran = new Set<PodUid>();

  constructor(options: ApiStatusesOptions) {
    const { apiPod, mayWriteMirror, worker, status: _status, isInRuntime: _runs, ...writer } = options;
    this.#o = options;
    this.#writer = new ApiStatusWriter({
      ...writer,
      apiPod: (pod) => {
        const found = apiPod(pod);
        return found && isStatic(pod) && !mayWriteMirror(pod, found) ? undefined : found;
      },
      couldHaveRunningContainers: (uid) => (worker(uid)?.phase ?? "terminated") !== "terminated",
      isCleared: (uid) => this.#cleared.has(uid),
    });
  }

  get component(): Component {
    return this.#writer;
  }

  /** Has the API get the status that the pod has now, and the pod deleted if it is to go and has gone. */
  sync(uid: PodUid): void {
    const pod = this.#o.worker(uid)?.pod;
    const status = this.#o.status(uid);
    if (pod && status) this.#set(pod, status);
    else this.#writer.poke(uid);
  }

  phaseChanged(uid: PodUid, phase: WorkerPhase): void {
    if (phase !== "terminated") this.#cleared.delete(uid);
  }

  /** Nothing of the pod is left on the node but what shows how it ended. */
  released(uid: PodUid): void {
    this.#cleared.add(uid);
  }

  gone(uid: PodUid): void {
    this.#cleared.delete(uid);
    this.#ran.delete(uid);
    this.#writer.forget(uid);
  }

  /** The pod in the API is another than before, or gone. */
  apiPodChanged(pod: Pod): void {
    if (!isMirror(pod)) this.#writer.poke(pod.metadata.uid);
  }

  /** True if the API has the newest status of the pod. */
  isWritten(uid: PodUid): boolean {
    return this.#writer.isWritten(uid);
  }

  #set(pod: Pod, status: PodStatus): void {
    const { uid } = pod.metadata;
    if (this.#o.isInRuntime(uid)) this.#ran.add(uid);
    const inApi = isStatic(pod) ? undefined : this.#o.apiPod(pod)?.status;
    // Of how a pod ended before it was ever seen here, this agent knows nothing that the API does not.
    this.#writer.set(pod, inApi && isFinal(inApi.phase) && !this.#ran.has(uid) ? inApi : status);
  }
}
