/**
 * What a pod can wait for. These words are part of what `kubelet explain -o json` and /debug/blocked say
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
