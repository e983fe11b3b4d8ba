import type { Pod, PodId } from "../../lib/model/pod.ts";
import type { PodFailure } from "../../lib/model/pod-failure.ts";
import type { PodStart, StepRecord } from "../../lib/model/pod-step.ts";

/** The lifecycle phase of a pod worker. It never goes back. */
export type WorkerPhase = "syncing" | "terminating" | "terminated";

/** The steps of a pod. */
export interface PodHistory {
  readonly startedAt: number;
  /** The oldest first; the last one may be in progress. */
  readonly records: readonly StepRecord[];
  /** How many older ones were dropped. */
  readonly dropped: number;
  readonly current: StepRecord | undefined;
  /** Undefined until the pod was ready for the first time, and for a pod that was found running. */
  readonly start: PodStart | undefined;
}

/** The state of a pod worker. */
export interface PodSyncStatus {
  readonly id: PodId;
  /** Undefined for an orphaned pod. */
  readonly pod: Pod | undefined;
  readonly phase: WorkerPhase;
  readonly removed: boolean;
  /** The kubelet evicts or preempts it. */
  readonly evicted: boolean;
  /** True once the pod may have something in the runtime. */
  readonly started: boolean;
  /** Nothing of the pod uses resources of the node. */
  readonly resourcesReclaimed: boolean;
  readonly failure: PodFailure | undefined;
  readonly rejected: boolean;
  /** True if the pod completed before termination was requested. */
  readonly terminatedByItself: boolean;
  readonly blockedOn: { readonly text: string; readonly since: number } | undefined;
  readonly history: PodHistory;
  /** Why a container does not run, by name. */
  readonly waiting: ReadonlyMap<string, { readonly reason: string; readonly message: string }>;
}
