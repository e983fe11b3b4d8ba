import { readFileSync } from "node:fs";
import { parseCpuSet } from "../../../lib/model/cpu-set.ts";
import type { LogicalCpu, NumaNode } from "../../../lib/model/topology.ts";
import { CpuTopology } from "./cpu-topology.ts";

/**
 * A line of the file: socket, NUMA node and cache, then a list of CPUs for each thread of a core. The first CPUs of all lists are the first core,
 * and so on.
 */
type Group = readonly [socket: number, numaNode: number, uncoreCache: number, ...threads: string[]];

interface Machine {
  readonly groups: readonly Group[];
}

/** A machine whose sysfs was recorded. */
interface RecordedMachine extends Machine {
  readonly recordedFrom: string;
  readonly numaNodes: readonly {
    readonly id: number;
    readonly memoryKiB: number;
    readonly distances: number[];
  }[];
}

/** The content of a file of `test/fixtures/cpu`. */
export function cpuFixture<T>(name: string): T {
  return JSON.parse(
    readFileSync(new URL(`../../../../test/fixtures/cpu/${name}`, import.meta.url), "utf8"),
  ) as T;
}

const recorded = cpuFixture<Record<string, RecordedMachine>>("recorded/machines.json");
const machines: Record<string, Machine> = {
  ...cpuFixture<Record<string, Machine>>("machines.json"),
  ...recorded,
};

export const recordedMachineNames = Object.keys(recorded);

export function machineCpus(name: string): LogicalCpu[] {
  const groups = machines[name]?.groups;
  if (!groups) throw new Error(`test/fixtures/cpu has no machine ${name}`);
  const cpus = groups.flatMap(([socket, numaNode, uncoreCache, ...threads]) => {
    const lists = threads.map((list) => [...parseCpuSet(list)]);
    return lists.flatMap((ids) =>
      ids.map((id, index) => ({ id, core: lists[0]?.[index] ?? id, socket, numaNode, uncoreCache })),
    );
  });
  return cpus.sort((a, b) => a.id - b.id);
}

export function machine(name: string): CpuTopology {
  return new CpuTopology(machineCpus(name));
}

/** The NUMA nodes of a recorded machine. */
export function machineNumaNodes(name: string): NumaNode[] {
  const nodes = recorded[name]?.numaNodes;
  if (!nodes) throw new Error(`test/fixtures/cpu/recorded/machines.json has no ${name}`);
  return nodes.map(({ id, memoryKiB, distances }) => ({
    id,
    distances,
    memoryBytes: BigInt(memoryKiB) * 1024n,
    hugepages: [],
  }));
}
