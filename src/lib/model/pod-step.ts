/**
 * The steps that a pod can wait for. These values are part of the output of `kubelet explain -o json` and
 * /debug/blocked (docs/EXPLAIN.md): tools may rely on them.
 */
export type StepKind =
  | "admission"
  | "network"
  | "volumes"
  | "claims"
  | "start-slot"
  | "sandbox"
  | "image"
  | "container"
  | "hook"
  | "resize"
  | "init"
  | "backoff"
  | "startup"
  | "readiness"
  | "gate"
  | "stop"
  | "unmount"
  | "remove"
  | "status"
  | "other";

/** Details of a step besides its text. */
export interface StepDetails {
  readonly kind: StepKind;
  /** The container, if the step is about one. */
  readonly container?: string;
  /** When it ends on its own or is retried (milliseconds since the epoch), if known. */
  readonly until?: number;
}

/** The step that a pod waits for, as one line for users, and with details for programs. */
export interface Step extends StepDetails {
  readonly text: string;
}

/** A step of a pod: its start, its end if it has ended, and its error if there was one. */
export interface StepRecord {
  readonly kind: StepKind;
  readonly text: string;
  readonly container?: string;
  readonly until?: number;
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly error?: string;
}

/** How a pod became ready, once it did. */
export interface PodStart {
  readonly readyAt: number;
  readonly tookMs: number;
  /** How long each step took, in the order of their first start. */
  readonly steps: readonly { readonly kind: StepKind; readonly ms: number }[];
}
