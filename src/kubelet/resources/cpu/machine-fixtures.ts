import { readFileSync } from "node:fs";
import { parseCpuSet } from "../../../lib/model/cpu-set.ts";
import type { LogicalCpu } from "../../../lib/model/topology.ts";
import { CpuTopology } from "./cpu-topology.ts";

const file = new URL("../../../../test/fixtures/cpu/machines.json", import.meta.url);

/**
 * A line of the file: socket, NUMA node and cache, then a list of CPUs for each thread of a core. The first CPUs of all lists are the first core,
 * and so on.
 */
type Group = readonly [socket: number, numaNode: number, uncoreCache: number, ...threads: string[]];

const machines = JSON.parse(readFileSync(file, "utf8")) as Record<string, { groups: readonly Group[] }>;

export const machineNames = Object.keys(machines);

export function machineCpus(name: string): LogicalCpu[] {
  const groups = machines[name]?.groups;
  if (!groups) throw new Error(`test/fixtures/cpu/machines.json has no ${name}`);
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
