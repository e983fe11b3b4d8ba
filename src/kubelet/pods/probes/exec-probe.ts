import { abortError, messageOf } from "../../../lib/base/errors.ts";
import type { ContainerId, RuntimeService } from "../../../lib/clients/cri/cri.ts";
import { type GrpcCode, hasGrpcCode } from "../../../lib/clients/cri/cri-error.ts";
import { formatDuration } from "../../../lib/config/duration.ts";
import { ExpansionBudget, expandVariables } from "../../../lib/model/env-expansion.ts";
import type { EnvVar } from "../../../lib/model/pod.ts";
import {
  type AttemptResult,
  failure,
  maxOutputBytes,
  type ProbeLimits,
  probeError,
  success,
} from "./attempt-result.ts";
import { withDeadline } from "./deadline.ts";
import { fromSpecName } from "./grpc-code.ts";

export interface ExecTarget {
  id: ContainerId;
  command: string[];
}

/** The runtime kills the command on timeout. Ours is a little later: its response confirms that the command has exited. */
const marginMs = 500;

/** Succeeds if the command exits with 0. */
export function probeExec(
  runtime: Pick<RuntimeService, "execSync">,
  { id, command }: ExecTarget,
  limits: ProbeLimits,
): Promise<AttemptResult> {
  const { timeoutMs } = limits;
  const timedOut = () =>
    failure(
      `command timed out: ${JSON.stringify(command.join(" "))} timed out after ${formatDuration(timeoutMs)}`,
    );
  return withDeadline({ ...limits, timeoutMs: timeoutMs + marginMs }, timedOut, ({ finish }) => {
    const call = new AbortController();
    runtime.execSync(id, command, Math.ceil(timeoutMs / 1000), { signal: call.signal }).then(
      ({ exitCode, stdout, stderr }) => {
        const output = Buffer.concat([stdout, stderr]).subarray(0, maxOutputBytes).toString();
        finish(exitCode === 0 ? success(output) : failure(output, exitCode));
      },
      (error: unknown) =>
        finish(hasGrpcCode(error, "DEADLINE_EXCEEDED") ? timedOut() : probeError(rpcMessage(error))),
    );
    // A runtime whose call is canceled while it starts a command may not notice the exit of the container for half a
    // minute. An aborted probe does not wait, but lets the call finish.
    return () => limits.signal.aborted || call.abort(abortError("the probe timed out"));
  });
}

/**
 * Expands `$(NAME)` in a probe's command to the literal value in the container's spec. Values from other sources
 * (secrets, fields) are empty here, and variables within values are not expanded. Throws if the
 * result would be too long.
 */
export function probeCommand(command: readonly string[], env: readonly EnvVar[] | undefined): string[] {
  const values = new Map(env?.map(({ name, value }) => [name, value ?? ""]));
  const budget = new ExpansionBudget();
  return command.map((arg, index) => {
    const name = `exec.command[${index}]`;
    const expanded = expandVariables(arg, (variable) => values.get(variable), { name });
    budget.spend(expanded, name);
    return expanded;
  });
}

function rpcMessage(error: unknown): string {
  const { grpcCode } = error as { grpcCode?: GrpcCode };
  const message = messageOf(error);
  return grpcCode ? `rpc error: code = ${fromSpecName(grpcCode)} desc = ${message}` : message;
}
