import { maskOf, masksOf, type NumaMask, nodeCount, nodesOf } from "../../../lib/model/numa-mask.ts";
import type { TopologyHint, TopologyHints } from "../../../lib/model/topology.ts";
import { type MachineMemory, type MemoryBlock, sameNodes, sumOf } from "./machine-memory.ts";
import type { MemoryRequests } from "./memory-requests.ts";

/** Bytes that completed init containers of the same pod leave to this request on these nodes. */
export type Reusable = (nodes: NumaMask, resource: string) => bigint;

/** A hint with nodes. */
export interface NodesHint extends TopologyHint {
  readonly numaNodes: NumaMask;
}

/** All sets of NUMA nodes that can serve the request; preferred if no smaller set could ever. */
export function possibleNodes(
  machine: MachineMemory,
  requests: MemoryRequests,
  reusable: Reusable,
): NodesHint[] {
  return [...possible(machine, requests, reusable)];
}

/**
 * The best of them that includes the given nodes: preferred ones first, then the narrowest. Larger sets than needed are not
 * enumerated: a machine may have dozens of nodes.
 */
export function bestNodes(
  machine: MachineMemory,
  requests: MemoryRequests,
  reusable: Reusable,
  included: NumaMask,
): NodesHint | undefined {
  let best: NodesHint | undefined;
  for (const hint of possible(machine, requests, reusable)) {
    if (best && nodeCount(hint.numaNodes) > nodeCount(best.numaNodes)) break;
    if ((hint.numaNodes & included) !== included) continue;
    if (!best || hint.numaNodes < best.numaNodes) best = hint;
  }
  return best;
}

/** Smaller sets first. */
function* possible(
  machine: MachineMemory,
  requests: MemoryRequests,
  reusable: Reusable,
): Generator<NodesHint> {
  const ids = [...machine.keys()].sort((a, b) => a - b);
  let fewest = ids.length;
  for (const numaNodes of masksOf(ids)) {
    const nodes = nodesOf(numaNodes);
    const isLarge = [...requests].every(([r, bytes]) => sumOf(machine, nodes, r, "allocatable") >= bytes);
    if (!isLarge) continue;
    fewest = Math.min(fewest, nodes.length);
    if (!mayGroup(machine, nodes)) continue;
    const fits = [...requests].every(
      ([r, bytes]) => sumOf(machine, nodes, r, "free") + reusable(numaNodes, r) >= bytes,
    );
    if (fits) yield { numaNodes, preferred: nodes.length === fewest };
  }
}

/** A node is used alone, or always together with the same others. */
function mayGroup(machine: MachineMemory, nodes: readonly number[]): boolean {
  return !splitsGroup(machine, nodes) && !violatesGroups(machine, nodes);
}

/** The only node is used together with others. */
export function splitsGroup(machine: MachineMemory, nodes: readonly number[]): boolean {
  const [only, ...others] = nodes;
  return only !== undefined && others.length === 0 && (machine.get(only)?.group.length ?? 0) > 1;
}

/** A set of several nodes has one that is already used alone, or together with others. */
export function violatesGroups(machine: MachineMemory, nodes: readonly number[]): boolean {
  if (nodes.length === 1) return false;
  return nodes.some((id) => {
    const node = machine.get(id);
    if (!node || node.assignments === 0) return false;
    return node.group.length === 1 || !sameNodes(node.group, nodes);
  });
}

/** True if the free memory of the nodes is enough. Memory that can be reused does not count as free. */
export function isFree(machine: MachineMemory, nodes: readonly number[], requests: MemoryRequests): boolean {
  return [...requests].every(([resource, bytes]) => sumOf(machine, nodes, resource, "free") >= bytes);
}

/** The hints by resource. Empty if no nodes can serve the request: as in the reference kubelet, that is not a preference, and the allocation fails. */
export function hintsFor(requests: MemoryRequests, nodes: readonly NodesHint[]): TopologyHints {
  return new Map(nodes.length > 0 ? [...requests.keys()].map((resource) => [resource, nodes]) : []);
}

/** The hints of memory that is already allocated; none if the request has changed. */
export function hintsOfBlocks(blocks: readonly MemoryBlock[], requests: MemoryRequests): TopologyHints {
  const isSame =
    blocks.length === requests.size &&
    blocks.every(({ resource, bytes }) => requests.get(resource) === bytes);
  if (!isSame) return new Map();
  return new Map(
    blocks.map(({ resource, nodes }) => [resource, [{ numaNodes: maskOf(nodes), preferred: true }]]),
  );
}
