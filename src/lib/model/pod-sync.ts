import type { MonotonicTime } from "../base/time.ts";
import type { StepDetails } from "./pod-step.ts";

/** Why a container of a pod does not run, as its status shows it. */
export interface Waiting {
  reason: string;
  message: string;
}

/** Where the work on a pod reports what it is doing. */
export interface SyncReport {
  /** One line for people; the details are for programs, and for the history of the pod. */
  blockedOn(text: string, details?: StepDetails): void;
  waiting(container: string, waiting: Waiting | undefined): void;
}

/** The state of a pod after a pass that had nothing left to do. */
export interface SyncResult {
  /** When there will be something to do. */
  wakeAt?: MonotonicTime;
  /** What the pod waits for, if it does. */
  waitingFor?: string;
  waitsOn?: StepDetails;
  /** Why nothing of the pod will run again: what still runs, as sidecars do, is to be stopped. */
  finished?: string;
}

/** An image that is present. */
export interface EnsuredImage {
  /** What the runtime is given to run. */
  ref: string;
  /** The user that the image names: a number, a name, or neither. */
  user: { uid?: bigint; username?: string };
}
