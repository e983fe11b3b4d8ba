import { messageOf } from "../../../lib/base/errors.ts";
import { isStatic, type PodUid } from "../../../lib/model/pod.ts";
import type { ApiPods } from "../../state/api-pods.ts";
import type { PodSyncStatus } from "../../state/pod-sync-status.ts";
import type { StatusManager } from "./status-manager.ts";

export interface WorkerStatusesOptions {
  readonly workers: { get(uid: PodUid): PodSyncStatus | undefined; all(): Iterable<PodSyncStatus> };
  readonly statuses: Pick<StatusManager, "refresh">;
  readonly apiPods: Pick<ApiPods, "statusOf">;
}

/** Updates the status of a pod from its worker. */
export class WorkerStatuses {
  readonly #o: WorkerStatusesOptions;

  constructor(options: WorkerStatusesOptions) {
    this.#o = options;
  }

  refresh(uid: PodUid): void {
    const worker = this.#o.workers.get(uid);
    if (worker) this.#refresh(worker);
  }

  /** An error with one pod does not affect the others; it is thrown after they were updated. */
  refreshAll(): void {
    const failures: unknown[] = [];
    for (const worker of this.#o.workers.all()) {
      try {
        this.#refresh(worker);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, failures.map(messageOf).join("; "));
  }

  #refresh({ pod, waiting, phase, failure, rejected }: PodSyncStatus): void {
    if (!pod) return;
    const mirror = isStatic(pod) ? this.#o.apiPods.statusOf(pod) : undefined;
    this.#o.statuses.refresh(pod, { waiting, workerPhase: phase, failure, rejected, mirror });
  }
}
