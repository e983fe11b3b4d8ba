import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { NumaNode } from "../model/topology.ts";
import { readHugepagePools } from "./hugepages.ts";

/** The NUMA nodes of the machine, by ID. A kernel without NUMA has none: see `withoutNuma`. */
export async function readNumaNodes(sysDir = "/sys"): Promise<NumaNode[]> {
  const dir = join(sysDir, "devices/system/node");
  // A restricted container cannot read it. The machine is then treated as one without NUMA.
  const names = await readdir(dir).catch(() => []);
  const ids = names.flatMap((name) => /^node(\d+)$/.exec(name)?.[1] ?? []).map(Number);
  return Promise.all(ids.sort((a, b) => a - b).map((id) => readNode(join(dir, `node${id}`), id)));
}

async function readNode(dir: string, id: number): Promise<NumaNode> {
  const [meminfo, distance, hugepages] = await Promise.all([
    readFile(join(dir, "meminfo"), "utf8").catch(() => ""),
    readFile(join(dir, "distance"), "utf8").catch(() => ""),
    readHugepagePools(join(dir, "hugepages")).catch(() => []),
  ]);
  return { id, memoryBytes: totalOf(meminfo), hugepages, distances: numbersOf(distance) };
}

/** "Node 0 MemTotal:       16316412 kB" */
function totalOf(meminfo: string): bigint {
  const kilobytes = /^Node \d+ MemTotal:\s*(\d+) kB$/m.exec(meminfo)?.[1];
  return BigInt(kilobytes ?? 0) * 1024n;
}

function numbersOf(text: string): number[] {
  return text.split(/\s+/).filter(Boolean).map(Number);
}

/** The machine as one node. */
export async function withoutNuma(memoryBytes: bigint, sysDir = "/sys"): Promise<NumaNode[]> {
  const hugepages = await readHugepagePools(join(sysDir, "kernel/mm/hugepages")).catch(() => []);
  return [{ id: 0, memoryBytes, hugepages, distances: [10] }];
}
