import type { MonotonicTime } from "../base/time.ts";
import type { PodFailure } from "./pod-failure.ts";
import type { StepDetails } from "./pod-step.ts";

/** Why a container of a pod does not run, as its status shows it. */
export interface Waiting {
  reason: string;
  message: string;
}

/** Whether a pod may run on this node. */
export type Admission =
  | { readonly kind: "admitted" }
  | { readonly kind: "rejected"; readonly failure: PodFailure }
  /** Others have to terminate first. To be decided again when one has, and at `until` in any case. */
  | { readonly kind: "waiting"; readonly text: string; readonly until: MonotonicTime };

/** Receives the progress of a sync. */
export interface SyncReport {
  /** One line for users; the details are for programs, and for the history of the pod. */
  blockedOn(text: string, details?: StepDetails): void;
  waiting(container: string, waiting: Waiting | undefined): void;
}

/** The result of a sync with nothing left to do. */
export interface SyncResult {
  /** When to sync again. */
  wakeAt?: MonotonicTime;
  /** The step that the pod waits for, if any. */
  waitingFor?: string;
  waitsOn?: StepDetails;
  /** Why no container of the pod will run again: remaining ones, such as sidecars, have to be stopped. */
  finished?: string;
}

/** An image that is present. */
export interface EnsuredImage {
  /** The image reference for the runtime. */
  ref: string;
  /** The user that the image names: a number, a name, or neither. */
  user: { uid?: bigint; username?: string };
}
