import type { CpuSet } from "../../../lib/model/cpu-set.ts";
import type { LogicalCpu } from "../../../lib/model/topology.ts";

/** The groups that a CPU belongs to. */
export type Level = Exclude<keyof LogicalCpu, "id">;

/** The CPUs of the machine and how they are grouped. */
export class CpuTopology {
  readonly #cpus: ReadonlyMap<number, LogicalCpu>;
  readonly #groups: Readonly<Record<Level, ReadonlyMap<number, CpuSet>>>;
  readonly all: CpuSet;

  constructor(cpus: readonly LogicalCpu[]) {
    this.#cpus = new Map(cpus.map((cpu) => [cpu.id, cpu]));
    this.all = new Set(this.#cpus.keys());
    const groupsOf = (level: Level) =>
      new Map(
        [...Map.groupBy(cpus, (cpu) => cpu[level])].map(([id, of]) => [id, new Set(of.map((c) => c.id))]),
      );
    this.#groups = {
      core: groupsOf("core"),
      socket: groupsOf("socket"),
      numaNode: groupsOf("numaNode"),
      uncoreCache: groupsOf("uncoreCache"),
    };
  }

  get(cpu: number): LogicalCpu | undefined {
    return this.#cpus.get(cpu);
  }

  count(level: Level): number {
    return this.#groups[level].size;
  }

  /** The average, as the reference kubelet computes it: cores of a hybrid machine differ. */
  cpusPer(level: Level): number {
    return Math.floor(this.all.size / Math.max(1, this.count(level)));
  }

  /** In ascending order. */
  ids(level: Level): number[] {
    return [...this.#groups[level].keys()].sort((a, b) => a - b);
  }

  cpusIn(level: Level, id: number): CpuSet {
    return this.#groups[level].get(id) ?? new Set();
  }

  /** The groups that the CPUs belong to. */
  groupsOf(level: Level, cpus: Iterable<number>): Set<number> {
    const ids = new Set<number>();
    for (const cpu of cpus) {
      const known = this.#cpus.get(cpu);
      if (known) ids.add(known[level]);
    }
    return ids;
  }
}
