import { readFile } from "node:fs/promises";
import { messageOf } from "../../lib/base/errors.ts";
import { resolvConfProblem } from "../pods/network/resolv-conf-limits.ts";
import type { AgentCore } from "./agent-core.ts";

/** Reports a resolver configuration that pods can get only in part. It is read again for each pod. */
export async function checkResolvConf({ config, nodeEvents }: AgentCore): Promise<void> {
  const { resolvConf: path, clusterDomain } = config;
  if (!path) return;
  const problem = await readFile(path, "utf8").then(
    (text) => resolvConfProblem({ path, text }, clusterDomain),
    (error: unknown) => `open ${path}: ${/^E\w+: ([^,]+),/.exec(messageOf(error))?.[1] ?? messageOf(error)}`,
  );
  if (problem !== undefined) nodeEvents.warning("CheckLimitsForResolvConf", problem);
}
