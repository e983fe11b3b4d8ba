import type { CpuSet } from "../../../lib/model/cpu-set.ts";
import { maskOf } from "../../../lib/model/numa-mask.ts";
import type { TopologyHint } from "../../../lib/model/topology.ts";
import type { CpuTopology } from "./cpu-topology.ts";
import { combinations } from "./distribute-cpus.ts";

/**
 * The sets of NUMA nodes that have enough CPUs. Hints of the smallest size that could ever have that many CPUs are preferred or, by socket,
 * hints with as few sockets.
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
  const needed = [...topology.groupsOf("numaNode", reusable)];
  const all = countsBy(nodes, (node) => topology.cpusIn("numaNode", node).size);
  const unused = countsBy(nodes, (node) => topology.cpusIn("numaNode", node).intersection(free).size);
  const found: (readonly number[])[] = [];
  let fewest = nodes.length;
  for (let size = 1; size <= nodes.length; size++)
    for (const set of combinations(nodes, size)) {
      if (size < fewest && all(set) >= count) fewest = size;
      if (unused(set) >= count && needed.every((node) => set.includes(node))) found.push(set);
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

/** The sum over a set of nodes: there may be thousands of sets. */
function countsBy(nodes: readonly number[], of: (node: number) => number) {
  const counts = new Map(nodes.map((node) => [node, of(node)]));
  return (set: readonly number[]) => set.reduce((sum, node) => sum + (counts.get(node) ?? 0), 0);
}

function cpusIn(topology: CpuTopology, nodes: readonly number[]): Set<number> {
  return new Set(nodes.flatMap((node) => [...topology.cpusIn("numaNode", node)]));
}
