import type { Clock } from "../../../lib/base/clock.ts";

/**
 * The result of probing a container once. A warning is a success. An error means that the probe could not be executed: it
 * is reported to the user and has no effect.
 */
export type AttemptResult =
  | { kind: "success" | "warning"; output: string }
  | {
      kind: "failure";
      output: string;
      /** The exit code of a command. */
      exitCode?: number;
    }
  | { kind: "error"; state: "unknown" | "failure"; message: string };

export interface ProbeLimits {
  clock: Clock;
  timeoutMs: number;
  /** Aborts the probe and releases its resources. */
  signal: AbortSignal;
}

/** How much output of a container is kept. */
export const maxOutputBytes = 10 * 1024;

export const userAgent = "kube-probe/1.36";

export const success = (output = ""): AttemptResult => ({ kind: "success", output });
export const warning = (output: string): AttemptResult => ({ kind: "warning", output });
export const failure = (output: string, exitCode?: number): AttemptResult => ({
  kind: "failure",
  output: bounded(output),
  ...(exitCode !== undefined && { exitCode }),
});
export const probeError = (message: string, state: "unknown" | "failure" = "unknown"): AttemptResult => ({
  kind: "error",
  state,
  message: bounded(message),
});

/** A message may contain the command of a probe, whose length has a limit of several MiB. */
function bounded(text: string): string {
  return text.length > maxOutputBytes ? `${text.slice(0, maxOutputBytes)}...` : text;
}
