import type { CpuSet } from "../../../lib/model/cpu-set.ts";
import type { TopologyHint } from "../../../lib/model/topology.ts";
import type { CpuTopology } from "./cpu-topology.ts";
import { combinations } from "./distribute-cpus.ts";

/**
 * The sets of NUMA nodes that have enough CPUs. Preferred are those of the smallest size that could ever have so many, or, by
 * socket, those in as few sockets.
 */
export function cpuHints(
  topology: CpuTopology,
  request: {
    readonly count: number;
    readonly available: CpuSet;
    /** CPUs that the pod has already: all of them must be in the set. */
    readonly reusable: CpuSet;
    readonly alignBySocket: boolean;
  },
): TopologyHint[] {
  const { count, available, reusable, alignBySocket } = request;
  const nodes = topology.ids("numaNode");
  const free = available.union(reusable);
  const needed = topology.groupsOf("numaNode", reusable);
  const found: (readonly number[])[] = [];
  let fewest = nodes.length;
  for (let size = 1; size <= nodes.length; size++)
    for (const set of combinations(nodes, size)) {
      if (size < fewest && cpusIn(topology, set).size >= count) fewest = size;
      if (!needed.isSubsetOf(new Set(set))) continue;
      if (cpusIn(topology, set).intersection(free).size >= count) found.push(set);
    }
  return found.map((set) => ({
    numaNodes: maskOf(set),
    preferred: set.length === fewest || (alignBySocket && isInFewestSockets(topology, set, fewest)),
  }));
}

function isInFewestSockets(topology: CpuTopology, nodes: readonly number[], fewestNodes: number): boolean {
  const nodesPerSocket = Math.floor(topology.count("numaNode") / topology.count("socket"));
  if (nodesPerSocket === 0) return false;
  const sockets = topology.groupsOf("socket", cpusIn(topology, nodes));
  return sockets.size === Math.ceil(fewestNodes / nodesPerSocket);
}

function cpusIn(topology: CpuTopology, nodes: readonly number[]): Set<number> {
  return new Set(nodes.flatMap((node) => [...topology.cpusIn("numaNode", node)]));
}

function maskOf(nodes: readonly number[]): bigint {
  return nodes.reduce((mask, node) => mask | (1n << BigInt(node)), 0n);
}
