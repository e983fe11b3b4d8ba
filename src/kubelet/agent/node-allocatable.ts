import { podsCgroupName } from "../resources/cgroups/names.ts";
import { NodeAllocatable } from "../resources/cgroups/node-allocatable.ts";
import type { AgentCore } from "./agent-core.ts";

export function nodeAllocatable({
  config,
  node,
  nodeEvents,
  clock,
}: Pick<AgentCore, "config" | "node" | "nodeEvents" | "clock">): NodeAllocatable {
  return new NodeAllocatable({
    manager: node.cgroupManager,
    podsCgroup: config.cgroupsPerQOS ? podsCgroupName(config.cgroupRoot) : undefined,
    enforcement: node.enforcement,
    events: nodeEvents,
    clock,
  });
}
