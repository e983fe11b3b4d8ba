import { type CgroupLimits, limitsReader } from "../../lib/host/cgroups/limits-reader.ts";
import type { Pod } from "../../lib/model/pod.ts";
import type { PodCgroups } from "../resources/cgroups/pod-cgroups.ts";
import type { AgentCore } from "./agent-core.ts";

/** The limits of a pod's cgroup. */
export function podCgroupReader(
  { node, config }: AgentCore,
  cgroups: Pick<PodCgroups, "parentFor">,
): (pod: Pod) => CgroupLimits | undefined {
  const read = limitsReader(node.layout);
  // Without pod cgroups there is no such limit, and the path is the cgroup of all containers.
  if (config.cgroupsPerQOS === false) return () => undefined;
  return (pod) => read(cgroups.parentFor(pod));
}
