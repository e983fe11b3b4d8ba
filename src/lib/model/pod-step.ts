/**
 * What a pod can wait for. These values are part of the output of `kubelet explain -o json` and /debug/blocked
 * (docs/EXPLAIN.md): tools may rely on them.
 */
export type StepKind =
  | "admission"
  | "network"
  | "volumes"
  | "turn"
  | "sandbox"
  | "image"
  | "container"
  | "hook"
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

/** What is to be known of a step besides its text. */
export interface StepDetails {
  readonly kind: StepKind;
  /** The container that it is for, if it is for one. */
  readonly container?: string;
  /** When it ends by itself or is tried again (milliseconds since the epoch), if that is known. */
  readonly until?: number;
}

/** One thing that a pod waits for, in one line for people, and in a form for programs. */
export interface Step extends StepDetails {
  readonly text: string;
}

/** A step of a pod: since when, until when if it is over, and what went wrong in it if something did. */
export interface StepRecord {
  readonly kind: StepKind;
  readonly text: string;
  readonly container?: string;
  readonly until?: number;
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly error?: string;
}

/** How a pod came up, once it did. */
export interface PodStart {
  readonly readyAt: number;
  readonly tookMs: number;
  /** How long it was at what, in the order in which it first was. */
  readonly steps: readonly { readonly kind: StepKind; readonly ms: number }[];
}
