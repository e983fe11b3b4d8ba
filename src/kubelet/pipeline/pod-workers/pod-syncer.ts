import type { WallTime } from "../../../lib/base/time.ts";
import type { Pod, PodId, PodUid } from "../../../lib/model/pod.ts";
import type { PodFailure } from "../../../lib/model/pod-failure.ts";
import type { Admission, SyncReport, SyncResult } from "../../../lib/model/pod-sync.ts";
import type { SyncKind } from "./worker-metrics.ts";

/** The operations of a worker on its pod, as upstream's podSyncer. `createPodSyncer` implements it. */
export interface PodSyncer {
  /** `kind`: the pod is new, has changed, or is synced again. */
  sync(pod: Pod, report: SyncReport, signal: AbortSignal, kind?: SyncKind): Promise<SyncResult>;
  stop(
    uid: PodUid,
    pod: Pod | undefined,
    options: { graceSeconds?: number; signal: AbortSignal; report: SyncReport },
  ): Promise<void>;
  release(uid: PodUid, signal: AbortSignal): Promise<void>;
  remove(id: PodId, signal: AbortSignal): Promise<void>;
  /** True if the pod has succeeded or failed. */
  isTerminal(pod: Pod): boolean;
  /**
   * Whether this node will run the pod. Called before it starts: once, unless it has to wait. A promise only if the pod needs exclusive
   * resources.
   */
  admit?(pod: Pod, report: SyncReport, signal: AbortSignal): Admission | Promise<Admission>;
  /** Start time and activeDeadlineSeconds of the pod, if both are known. */
  deadlineOf?(pod: Pod): ActiveDeadline | undefined;
}

export interface ActiveDeadline {
  readonly since: WallTime;
  readonly limitMs: number;
}

export interface TerminateOptions {
  /** The pod is no longer desired: when it has terminated, all of it is removed. */
  removed: boolean;
  /** May only shorten the current grace period. */
  graceSeconds?: number;
  /** Why the pod has failed, if that is why it terminates. The first one wins. */
  failure?: PodFailure;
  /** The kubelet terminates the pod to free resources: none of its containers is kept. */
  evicted?: boolean;
}

/** The failure of a pod that was active longer than its activeDeadlineSeconds. */
export const deadlineExceeded: PodFailure = {
  phase: "Failed",
  reason: "DeadlineExceeded",
  message: "Pod was active on the node longer than the specified deadline",
};
