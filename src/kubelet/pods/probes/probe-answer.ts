import type { Clock } from "../../../lib/base/clock.ts";

/**
 * What came of asking a container once. A warning counts as success. An error says nothing about the container: it is
 * told to the user and then forgotten.
 */
export type ProbeAnswer =
  | { kind: "success" | "warning" | "failure"; output: string }
  | { kind: "error"; state: "unknown" | "failure"; message: string };

export interface ProbeLimits {
  clock: Clock;
  timeoutMs: number;
  /** Nobody wants the answer any more: everything that the probe holds is let go. */
  signal: AbortSignal;
}

/** How much of what a container says is kept. */
export const maxOutputBytes = 10 * 1024;

export const userAgent = "kube-probe/1.36";

export const success = (output = ""): ProbeAnswer => ({ kind: "success", output });
export const warning = (output: string): ProbeAnswer => ({ kind: "warning", output });
export const failure = (output: string): ProbeAnswer => ({ kind: "failure", output });
export const probeError = (message: string, state: "unknown" | "failure" = "unknown"): ProbeAnswer => ({
  kind: "error",
  state,
  message,
});
