import { type CpuSet, noCpus, sortedCpus } from "../../../lib/model/cpu-set.ts";
import { ResourceShortage } from "../../../lib/model/resource-shortage.ts";
import type { CpuTopology, Level } from "./cpu-topology.ts";

export interface TakeOptions {
  /** Spreads CPUs across cores instead of packing them. */
  readonly spread: boolean;
  readonly preferUncoreCache: boolean;
}

/**
 * The given number of the available CPUs, close to each other: as many whole sockets and NUMA nodes as possible, then whole
 * caches if preferred, then whole cores, then single CPUs. Groups with the fewest free CPUs come first, to keep the others whole.
 */
export function takeCpus(
  topology: CpuTopology,
  available: CpuSet,
  count: number,
  { spread, preferUncoreCache }: TakeOptions,
): CpuSet {
  if (count <= 0) return noCpus;
  const pool = new CpuPool(topology, available, count);
  // The larger of the two comes first.
  const [first, second] = outerLevels(topology);
  pool.takeWhole(first, pool.sorted(first));
  pool.takeWhole(second, pool.sorted(second));
  if (preferUncoreCache) takeByUncoreCache(pool);
  if (!spread) pool.takeWhole("core", pool.sorted("core"));
  pool.takeSingle(spread ? pool.bySocket() : pool.byCore());
  return pool.taken;
}

/** NUMA nodes and sockets, the larger ones first. */
function outerLevels(topology: CpuTopology): ["numaNode", "socket"] | ["socket", "numaNode"] {
  return topology.count("socket") >= topology.count("numaNode")
    ? ["numaNode", "socket"]
    : ["socket", "numaNode"];
}

function takeByUncoreCache(pool: CpuPool): void {
  const { topology } = pool;
  for (const cache of pool.sorted("uncoreCache")) {
    if (pool.needed >= topology.cpusPer("uncoreCache"))
      pool.takeWhole("uncoreCache", pool.sorted("uncoreCache"));
    if (pool.needed === 0) return;
    takePartOf(pool, cache);
    if (pool.needed === 0) return;
  }
}

/** Takes all needed CPUs from one cache, or none. */
function takePartOf(pool: CpuPool, cache: number): void {
  const perCore = pool.topology.cpusPer("core");
  const cores = sortedCpus(pool.topology.groupsOf("core", pool.freeIn("uncoreCache", cache)));
  const chosen = cores.slice(0, Math.ceil(pool.needed / perCore));
  const cpus = sortedCpus(chosen.flatMap((core) => pool.freeIn("core", core)));
  // An odd number leaves one hyperthread of the last core free.
  if (perCore > 1 && pool.needed % 2 !== 0 && cpus.length > pool.needed) cpus.pop();
  if (cpus.length === pool.needed) pool.take(cpus);
}

/** The CPUs that are free, and those that were taken from them. */
export class CpuPool {
  readonly topology: CpuTopology;
  readonly taken = new Set<number>();
  readonly #free: Set<number>;
  #needed: number;

  constructor(topology: CpuTopology, available: CpuSet, count: number) {
    this.topology = topology;
    this.#free = new Set(available.intersection(topology.all));
    this.#needed = count;
    if (count > this.#free.size)
      throw new ResourceShortage(
        "UnexpectedAdmissionError",
        `not enough cpus available to satisfy request: requested=${count}, available=${available.size}`,
      );
  }

  /** How many CPUs are still missing. */
  get needed(): number {
    return this.#needed;
  }

  freeIn(level: Level, id: number): number[] {
    return [...this.topology.cpusIn(level, id)].filter((cpu) => this.#free.has(cpu));
  }

  take(cpus: Iterable<number>): void {
    for (const cpu of cpus) {
      this.#free.delete(cpu);
      this.taken.add(cpu);
      this.#needed--;
    }
  }

  /** Takes those groups that are completely free, as long as a whole group is needed. */
  takeWhole(level: Level, ids: readonly number[]): void {
    for (const id of ids.filter((group) => this.#isWhole(level, group))) {
      const cpus = this.topology.cpusIn(level, id);
      if (this.#needed >= cpus.size) this.take(cpus);
    }
  }

  takeSingle(cpus: readonly number[]): void {
    this.take(cpus.slice(0, this.#needed));
  }

  #isWhole(level: Level, id: number): boolean {
    const isAverage = level === "core" || level === "socket";
    const size = isAverage ? this.topology.cpusPer(level) : this.topology.cpusIn(level, id).size;
    return this.freeIn(level, id).length === size;
  }

  /** Groups with free CPUs: by the order of the groups that contain them, then by the number of free CPUs, then by ID. */
  sorted(level: Level): number[] {
    const [first, second] = outerLevels(this.topology);
    if (level === first) return this.#sortedWithin(level, [...this.#free]);
    const parent = level === second ? first : level === "uncoreCache" ? "numaNode" : second;
    const ids = this.sorted(parent).flatMap((id) => this.#sortedWithin(level, this.freeIn(parent, id)));
    return [...new Set(ids)];
  }

  #sortedWithin(level: Level, cpus: readonly number[]): number[] {
    const sizes = [...this.topology.groupsOf(level, cpus)].map(
      (id) => [id, this.freeIn(level, id).length] as const,
    );
    return sizes.sort(([a, sizeOfA], [b, sizeOfB]) => sizeOfA - sizeOfB || a - b).map(([id]) => id);
  }

  byCore(): number[] {
    return this.sorted("core").flatMap((core) => sortedCpus(this.freeIn("core", core)));
  }

  bySocket(): number[] {
    return this.sorted("socket").flatMap((socket) => sortedCpus(this.freeIn("socket", socket)));
  }
}
