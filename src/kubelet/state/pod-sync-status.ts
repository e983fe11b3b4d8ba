import type { Pod, PodId } from "../../lib/model/pod.ts";
import type { PodStart, StepRecord } from "../../lib/model/pod-step.ts";
import type { PodVerdict } from "../../lib/model/pod-verdict.ts";

/** Where a pod is in its life on this node. It never goes back. */
export type WorkerPhase = "syncing" | "terminating" | "terminated";

/** What a pod waited for, one step after another. */
export interface PodHistory {
  readonly startedAt: number;
  /** The oldest first; the last one may still go on. */
  readonly records: readonly StepRecord[];
  /** How many older ones there were. */
  readonly dropped: number;
  readonly current: StepRecord | undefined;
  /** Undefined until the pod was ready for the first time, and for a pod that was found running. */
  readonly start: PodStart | undefined;
}

/** The life of one pod as its worker has it: for those who read it, and may not import the worker. */
export interface PodSyncStatus {
  readonly id: PodId;
  /** Undefined for what only the runtime has. */
  readonly pod: Pod | undefined;
  readonly phase: WorkerPhase;
  readonly removed: boolean;
  readonly verdict: PodVerdict | undefined;
  readonly refused: boolean;
  /** True if the pod terminated before it was requested. */
  readonly endedByItself: boolean;
  readonly blockedOn: { readonly text: string; readonly since: number } | undefined;
  readonly history: PodHistory;
  /** By container, why it does not run. */
  readonly waiting: ReadonlyMap<string, { readonly reason: string; readonly message: string }>;
}
