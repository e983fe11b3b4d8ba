import type { CpuSet } from "../../../lib/model/cpu-set.ts";
import type { CpuTopology } from "./cpu-topology.ts";
import { CpuPool, type TakeOptions, takeCpus } from "./take-cpus.ts";

/** How many CPUs are free in each NUMA node. */
type FreeByNode = ReadonlyMap<number, number>;

interface Choice {
  readonly nodes: readonly number[];
  /** The nodes that provide what cannot be divided evenly. */
  readonly rest: readonly number[];
  /** The deviation of the free CPUs of all nodes afterwards. */
  readonly imbalance: number;
}

/**
 * The given number of the available CPUs, evenly from as few NUMA nodes as possible, in groups of `groupSize`. Among several sets of
 * nodes, chooses the one that leaves the free CPUs best balanced. If no set of nodes fits, packs the CPUs.
 */
export function distributeCpus(
  topology: CpuTopology,
  available: CpuSet,
  count: number,
  { groupSize, spread }: { readonly groupSize: number; readonly spread: boolean },
): CpuSet {
  const options: TakeOptions = { spread, preferUncoreCache: false };
  const packed = () => takeCpus(topology, available, count, options);
  if (count <= 0 || count % groupSize !== 0) return packed();
  const pool = new CpuPool(topology, available, count);
  const nodes = pool.sorted("numaNode");
  const free = new Map(nodes.map((node) => [node, pool.freeIn("numaNode", node).length]));
  const groups = Math.ceil(count / groupSize);
  const groupsPerNode = Math.ceil(Math.ceil(topology.all.size / groupSize) / topology.count("numaNode"));
  const most = Math.min(groups, nodes.length);
  for (let size = Math.ceil(groups / groupsPerNode); size <= most; size++) {
    const choice = bestChoice(free, nodes, { size, count, groupSize });
    if (choice) return takeEvenly(pool, choice, { count, groupSize, options });
  }
  return packed();
}

function bestChoice(
  free: FreeByNode,
  nodes: readonly number[],
  o: { readonly size: number; readonly count: number; readonly groupSize: number },
): Choice | undefined {
  let best: Choice | undefined;
  for (const combination of combinations(nodes, o.size)) {
    const choice = choiceOf(free, combination, o);
    if (choice && (!best || choice.imbalance < best.imbalance)) best = choice;
    if (best?.imbalance === 0) break;
  }
  return best;
}

/** Undefined if the nodes cannot provide even shares. */
function choiceOf(
  free: FreeByNode,
  nodes: readonly number[],
  { count, groupSize }: { readonly count: number; readonly groupSize: number },
): Choice | undefined {
  const freeIn = (node: number) => free.get(node) ?? 0;
  const groups = nodes.reduce((sum, node) => sum + Math.floor(freeIn(node) / groupSize), 0);
  const share = evenShare(count, nodes.length, groupSize);
  if (groups * groupSize < count || nodes.some((node) => freeIn(node) < share)) return undefined;
  const after = new Map(free);
  for (const node of nodes) after.set(node, freeIn(node) - share);
  const rest = count - share * nodes.length;
  if (rest === 0) return { nodes, rest: [], imbalance: deviation([...after.values()]) };
  const candidates = nodes.filter((node) => (after.get(node) ?? 0) >= groupSize);
  let best: Choice | undefined;
  for (let size = candidates.length; size >= 1; size--)
    for (const subset of combinations(candidates, size)) {
      const left = withoutRest(after, subset, rest, groupSize);
      const imbalance = left && deviation([...left.values()]);
      if (imbalance !== undefined && (!best || imbalance < best.imbalance))
        best = { nodes, rest: subset, imbalance };
    }
  return best;
}

/** The free CPUs that are left after the nodes have given the rest in turn; undefined if they have too few. */
function withoutRest(
  after: FreeByNode,
  nodes: readonly number[],
  rest: number,
  groupSize: number,
): FreeByNode | undefined {
  const left = new Map(after);
  let missing = rest;
  while (missing > 0) {
    const before = missing;
    for (const node of nodes) {
      const free = left.get(node) ?? 0;
      if (missing === 0 || free < groupSize) continue;
      left.set(node, free - groupSize);
      missing -= groupSize;
    }
    if (missing === before) return undefined;
  }
  return left;
}

function takeEvenly(
  pool: CpuPool,
  { nodes, rest }: Choice,
  o: { readonly count: number; readonly groupSize: number; readonly options: TakeOptions },
): CpuSet {
  const takeFrom = (node: number, count: number) =>
    pool.take(takeCpus(pool.topology, new Set(pool.freeIn("numaNode", node)), count, o.options));
  for (const node of nodes) takeFrom(node, evenShare(o.count, nodes.length, o.groupSize));
  while (pool.needed > 0)
    for (const node of rest)
      if (pool.needed > 0 && pool.freeIn("numaNode", node).length >= o.groupSize) takeFrom(node, o.groupSize);
  return pool.taken;
}

/** The number of CPUs from each node, in whole groups. */
function evenShare(count: number, nodes: number, groupSize: number): number {
  return Math.floor(Math.floor(count / nodes) / groupSize) * groupSize;
}

/** All sets of `size` items, in the order of the items. */
export function* combinations<T>(items: readonly T[], size: number, from = 0): Generator<readonly T[]> {
  if (size === 0) {
    yield [];
    return;
  }
  for (let i = from; i <= items.length - size; i++)
    for (const rest of combinations(items, size - 1, i + 1)) yield [items[i] as T, ...rest];
}

/** The standard deviation, to three digits. */
function deviation(values: readonly number[]): number {
  const round = (x: number) => Math.round(x * 1000) / 1000;
  const mean = round(values.reduce((sum, x) => sum + x, 0) / values.length);
  return round(Math.sqrt(values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / values.length));
}
