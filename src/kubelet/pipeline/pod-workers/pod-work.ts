import type { MonotonicTime, WallTime } from "../../../lib/base/time.ts";
import type { Pod, PodId, PodUid } from "../../../lib/model/pod.ts";
import type { StepDetails } from "../../../lib/model/pod-step.ts";
import type { PodVerdict } from "../../../lib/model/pod-verdict.ts";
import type { PassKind } from "./worker-metrics.ts";

export interface Waiting {
  reason: string;
  message: string;
}

/** Where the work on a pod tells what it is doing. */
export interface Report {
  /** One line for people; the details are for programs, and for the history of the pod. */
  blockedOn(text: string, details?: StepDetails): void;
  waiting(container: string, waiting: Waiting | undefined): void;
}

/** The state of a pod after a pass. */
export interface Synced {
  /** When there will be something to do. */
  wakeAt?: MonotonicTime;
  /** What the pod waits for, if it does. */
  waitingFor?: string;
  waitsOn?: StepDetails;
  /** Why nothing of the pod will run again: what still runs, as sidecars do, is to be ended. */
  finished?: string;
}

/** What a worker needs done; pod-runtime does it. */
export interface PodWork {
  /** The kind says why: the pod is new, has changed, or is looked at again. */
  sync(pod: Pod, report: Report, signal: AbortSignal, kind?: PassKind): Promise<Synced>;
  stop(
    uid: PodUid,
    pod: Pod | undefined,
    options: { graceSeconds?: number; signal: AbortSignal; report: Report },
  ): Promise<void>;
  release(uid: PodUid, signal: AbortSignal): Promise<void>;
  remove(id: PodId, signal: AbortSignal): Promise<void>;
  /** True if the pod has run to its end, well or badly. */
  hasEnded(pod: Pod): boolean;
  /** Asked once, before a pod begins: why this node will not run it, or undefined if it will. */
  admit?(pod: Pod): PodVerdict | undefined;
  /** Since when the pod is active and how long it may be, if that is limited and known. */
  deadlineOf?(pod: Pod): ActiveDeadline | undefined;
}

export interface ActiveDeadline {
  readonly since: WallTime;
  readonly limitMs: number;
}

export interface TerminateOptions {
  /** Nobody wants the pod any more: when it has ended, all of it is removed. */
  removed: boolean;
  /** May only shorten what was said before. */
  graceSeconds?: number;
  /** Why the pod has failed, if that is why it ends. The first one counts. */
  verdict?: PodVerdict;
}

/** What becomes of a pod that was active longer than its activeDeadlineSeconds. */
export const deadlineExceeded: PodVerdict = {
  phase: "Failed",
  reason: "DeadlineExceeded",
  message: "Pod was active on the node longer than the specified deadline",
};
