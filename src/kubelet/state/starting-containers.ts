import type { ContainerId } from "../../lib/clients/cri/cri.ts";
import type { PodUid } from "../../lib/model/pod.ts";
import type { ObservedPod } from "./observed-pods.ts";

/**
 * Containers that are running in the runtime but whose postStart hook has not completed. Only the component that starts
 * containers adds and deletes them; after a restart of the agent they count as started.
 */
export class StartingContainers {
  #ids = new Map<ContainerId, PodUid>();
  readonly #onStarted: (uid: PodUid) => void;

  /** `onStarted`: a container of this pod has started. */
  constructor(onStarted: (uid: PodUid) => void = () => {}) {
    this.#onStarted = onStarted;
  }

  add(uid: PodUid, id: ContainerId): void {
    this.#ids.set(id, uid);
  }

  delete(id: ContainerId): void {
    const uid = this.#ids.get(id);
    if (uid === undefined) return;
    this.#ids.delete(id);
    this.#onStarted(uid);
  }

  /** No container of the pod is running. */
  forget(uid: PodUid): void {
    for (const [id, owner] of this.#ids) if (owner === uid) this.#ids.delete(id);
  }

  get size(): number {
    return this.#ids.size;
  }

  /** The pod as reported to users: a starting container is created, not running. */
  asReported(pod: ObservedPod | undefined): ObservedPod | undefined {
    if (!pod?.containers.some((c) => this.#isStarting(c))) return pod;
    return {
      ...pod,
      containers: pod.containers.map((c) => (this.#isStarting(c) ? { ...c, state: "created" } : c)),
    };
  }

  #isStarting(container: { id: ContainerId; state: string }): boolean {
    return container.state === "running" && this.#ids.has(container.id);
  }
}
