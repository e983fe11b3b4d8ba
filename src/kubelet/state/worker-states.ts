import type { PodUid } from "../../lib/model/pod.ts";
import type { PodSyncStatus } from "./pod-sync-status.ts";

/** The states of all pod workers. Only `PodWorkers` adds and deletes; each state is that of the worker itself, and changes with it. */
export class WorkerStates {
  readonly #states = new Map<PodUid, PodSyncStatus>();

  get(uid: PodUid): PodSyncStatus | undefined {
    return this.#states.get(uid);
  }

  all(): IterableIterator<PodSyncStatus> {
    return this.#states.values();
  }

  /** Whether the pod uses resources of the node. A rejected pod does not, even while its worker finishes. */
  isActive(uid: PodUid): boolean {
    const worker = this.#states.get(uid);
    return worker?.phase !== "terminated" && worker?.rejected !== true;
  }

  set(state: PodSyncStatus): void {
    this.#states.set(state.id.uid, state);
  }

  delete(uid: PodUid): void {
    this.#states.delete(uid);
  }
}
