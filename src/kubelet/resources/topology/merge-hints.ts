import { isNarrower, maskOf, type NumaMask, nodeCount, nodesOf } from "../../../lib/model/numa-mask.ts";
import type { NumaNode, TopologyHint, TopologyHints } from "../../../lib/model/topology.ts";

export type AligningPolicy = "best-effort" | "restricted" | "single-numa-node";

export interface MergeOptions {
  readonly policy: AligningPolicy;
  readonly numaNodes: readonly Pick<NumaNode, "id" | "distances">[];
  /** The option prefer-closest-numa-nodes. */
  readonly preferClosest: boolean;
}

export interface MergedHint {
  readonly hint: TopologyHint;
  readonly admitted: boolean;
}

const anyNode: readonly TopologyHint[] = [{ numaNodes: undefined, preferred: true }];
const noNode: readonly TopologyHint[] = [{ numaNodes: undefined, preferred: false }];

/** The NUMA nodes for all resources together, from one hint of each. */
export function mergeHints(hints: readonly TopologyHints[], o: MergeOptions): MergedHint {
  const lists = hints.flatMap(listsOf);
  if (o.policy !== "single-numa-node") {
    const hint = bestHint(lists, o);
    return { hint, admitted: o.policy === "best-effort" || hint.preferred };
  }
  const { numaNodes, preferred } = bestHint(lists.map(singleNodes), o);
  const isDefault = numaNodes === maskOf(o.numaNodes.map(({ id }) => id));
  return { hint: { numaNodes: isDefault ? undefined : numaNodes, preferred }, admitted: preferred };
}

/** The hints of each resource; one that any node serves if there is no preference. */
function listsOf(hints: TopologyHints): (readonly TopologyHint[])[] {
  if (hints.size === 0) return [anyNode];
  return [...hints.values()].map((list) =>
    list === undefined ? anyNode : list.length === 0 ? noNode : list,
  );
}

function singleNodes(list: readonly TopologyHint[]): TopologyHint[] {
  return list.filter(
    ({ numaNodes, preferred }) => preferred && (numaNodes === undefined || nodeCount(numaNodes) === 1),
  );
}

/**
 * The best of all combinations of one hint for each resource. A combination has the nodes that its hints have in common, and is preferred if
 * all of its hints are, with the same nodes. A machine with many nodes has millions of combinations. So only their distinct results are
 * enumerated, resource by resource. The order does not affect which result is best.
 */
function bestHint(lists: readonly (readonly TopologyHint[])[], o: MergeOptions): TopologyHint {
  const all = maskOf(o.numaNodes.map(({ id }) => id));
  let results: Results = { preferred: new Set([undefined]), other: new Set() };
  for (const list of lists) results = combine(results, list, all);
  const isBetter = ordering(o, largestMinimum(lists));
  const best = (masks: Iterable<NumaMask | undefined>) => {
    let found: NumaMask | undefined;
    for (const mask of masks) {
      const nodes = (mask ?? all) & all;
      if (nodes !== 0n && (found === undefined || isBetter.preferred(nodes, found))) found = nodes;
    }
    return found;
  };
  const preferred = best(results.preferred);
  if (preferred !== undefined) return { numaNodes: preferred, preferred: true };
  let other: NumaMask | undefined;
  for (const nodes of results.other)
    if (nodes !== 0n && (other === undefined || isBetter.other(nodes, other))) other = nodes;
  return { numaNodes: other ?? all, preferred: false };
}

/** The distinct results of combining hints; undefined for any node. */
interface Results {
  readonly preferred: ReadonlySet<NumaMask | undefined>;
  readonly other: ReadonlySet<NumaMask>;
}

function combine(before: Results, list: readonly TopologyHint[], all: NumaMask): Results {
  const preferred = new Set<NumaMask | undefined>();
  const other = new Set<NumaMask>();
  for (const hint of list) {
    const nodes = hint.numaNodes;
    for (const mask of before.preferred) {
      const agree = mask === undefined || nodes === undefined || mask === nodes;
      if (hint.preferred && agree) preferred.add(mask ?? nodes);
      else other.add((mask ?? all) & (nodes ?? all) & all);
    }
    for (const mask of before.other) other.add(mask & (nodes ?? all));
  }
  return { preferred, other };
}

/** How many nodes the resource that needs the most of them needs at least. */
function largestMinimum(lists: readonly (readonly TopologyHint[])[]): number {
  const minima = lists.map((list) =>
    Math.min(
      ...list.flatMap(({ numaNodes }) => (numaNodes === undefined ? [] : nodeCount(numaNodes))),
      Number.POSITIVE_INFINITY,
    ),
  );
  return Math.max(0, ...minima.filter(Number.isFinite));
}

type IsBetter = (a: NumaMask, b: NumaMask) => boolean;

/** Decides which of two different results is better. Hints that are not preferred should have `wanted` nodes, or else rather fewer than more. */
function ordering(o: MergeOptions, wanted: number): { preferred: IsBetter; other: IsBetter } {
  const isBetterMask: IsBetter =
    o.preferClosest && o.policy !== "single-numa-node" ? closest(o.numaNodes) : isNarrower;
  return {
    preferred: isBetterMask,
    other: (a, b) => {
      const [countA, countB] = [nodeCount(a), nodeCount(b)];
      if (countA === countB || (countA > wanted && countB > wanted)) return isBetterMask(a, b);
      if (countA > wanted || countB > wanted) return countA <= wanted;
      return countA > countB;
    },
  };
}

function closest(numaNodes: MergeOptions["numaNodes"]): IsBetter {
  const byId = new Map(numaNodes.map((node) => [node.id, node]));
  const indexOf = new Map(numaNodes.map(({ id }, index) => [id, index]));
  const averageDistance = (mask: NumaMask) => {
    const nodes = nodesOf(mask);
    let sum = 0;
    for (const from of nodes)
      for (const to of nodes) sum += byId.get(from)?.distances[indexOf.get(to) ?? -1] ?? 0;
    return sum / nodes.length ** 2;
  };
  return (a, b) => {
    if (nodeCount(a) !== nodeCount(b)) return isNarrower(a, b);
    const [distanceA, distanceB] = [averageDistance(a), averageDistance(b)];
    return distanceA === distanceB ? a < b : distanceA < distanceB;
  };
}
