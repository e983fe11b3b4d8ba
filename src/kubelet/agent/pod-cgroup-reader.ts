import { type CgroupLimits, limitsReader } from "../../lib/host/cgroups/limits-reader.ts";
import type { Pod } from "../../lib/model/pod.ts";
import type { AgentCore } from "./agent-core.ts";

/** What the cgroup of a pod is limited to, once the API knows that the pod runs; before that, nobody reads it from the status. */
export function podCgroupReader(
  { node, config }: AgentCore,
  pathOf: (pod: Pod) => string,
): (pod: Pod) => CgroupLimits | undefined {
  const read = limitsReader(node.layout);
  // Without cgroups for pods there is no such limit; the path is then that of all containers.
  if (config.cgroupsPerQOS === false) return () => undefined;
  return (pod) => (pod.status?.phase === "Running" ? read(pathOf(pod)) : undefined);
}
