import type { Pod, PodStatus, PodUid } from "../../lib/model/pod.ts";
import { isSamePod } from "./desired-pods.ts";

/** The pods of this node in the API, as they were last watched; none without a cluster. */
export class ApiPods {
  readonly #watched: { get(namespace: string, name: string): Pod | undefined } | undefined;
  readonly #restarted = new Set<PodUid>();

  constructor(watched: { get(namespace: string, name: string): Pod | undefined } | undefined) {
    this.#watched = watched;
  }

  /** The pod, or the mirror of this version of a static pod. */
  get(pod: Pod): Pod | undefined {
    const found = this.#watched?.get(pod.metadata.namespace, pod.metadata.name);
    return found && isSamePod(pod, found) ? found : undefined;
  }

  /** The status of the pod or its mirror; undefined if the static pod has terminated since, to start again. */
  statusOf(pod: Pod): PodStatus | undefined {
    return this.#restarted.has(pod.metadata.uid) ? undefined : this.get(pod)?.status;
  }

  /** A static pod has terminated and starts again: the status of its mirror is that of its previous run. */
  restarted(uid: PodUid): void {
    this.#restarted.add(uid);
  }

  forget(uid: PodUid): void {
    this.#restarted.delete(uid);
  }
}
