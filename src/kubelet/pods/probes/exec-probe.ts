import { abortError, messageOf } from "../../../lib/base/errors.ts";
import type { ContainerId, RuntimeService } from "../../../lib/clients/cri/cri.ts";
import { type GrpcCode, hasGrpcCode } from "../../../lib/clients/cri/cri-error.ts";
import { formatDuration } from "../../../lib/config/duration.ts";
import { expandVariables } from "../../../lib/model/env-expansion.ts";
import type { EnvVar } from "../../../lib/model/pod.ts";
import { withDeadline } from "./deadline.ts";
import { fromSpecName } from "./grpc-code.ts";
import {
  failure,
  maxOutputBytes,
  type ProbeAnswer,
  type ProbeLimits,
  probeError,
  success,
} from "./probe-answer.ts";

export interface ExecTarget {
  id: ContainerId;
  command: string[];
}

/** The runtime ends the command when its time is up. Ours is a little later: its answer says that the command is gone. */
const marginMs = 500;

/** A command that ends with 0 is fine. */
export function probeExec(
  runtime: Pick<RuntimeService, "execSync">,
  { id, command }: ExecTarget,
  limits: ProbeLimits,
): Promise<ProbeAnswer> {
  const { timeoutMs } = limits;
  const late = () =>
    failure(
      `command timed out: ${JSON.stringify(command.join(" "))} timed out after ${formatDuration(timeoutMs)}`,
    );
  return withDeadline({ ...limits, timeoutMs: timeoutMs + marginMs }, late, ({ finish }) => {
    const call = new AbortController();
    runtime.execSync(id, command, Math.ceil(timeoutMs / 1000), { signal: call.signal }).then(
      ({ exitCode, stdout, stderr }) => {
        const output = Buffer.concat([stdout, stderr]).subarray(0, maxOutputBytes).toString();
        finish(exitCode === 0 ? success(output) : failure(output));
      },
      (error: unknown) =>
        finish(hasGrpcCode(error, "DEADLINE_EXCEEDED") ? late() : probeError(rpcMessage(error))),
    );
    // A runtime that is cut off while it starts a command may not notice the end of the container for half a minute. Who
    // is not interested any more does not wait, but lets it finish.
    return () => limits.signal.aborted || call.abort(abortError("the probe has taken too long"));
  });
}

/**
 * `$(NAME)` in a probe's command stands for what the container's spec writes down for that name. What comes from
 * elsewhere (secrets, fields) is empty here, and variables within values are left alone.
 */
export function probeCommand(command: readonly string[], env: readonly EnvVar[] | undefined): string[] {
  const values = new Map(env?.map(({ name, value }) => [name, value ?? ""]));
  return command.map((word) => expandVariables(word, (name) => values.get(name)));
}

function rpcMessage(error: unknown): string {
  const { grpcCode } = error as { grpcCode?: GrpcCode };
  const message = messageOf(error);
  return grpcCode ? `rpc error: code = ${fromSpecName(grpcCode)} desc = ${message}` : message;
}
