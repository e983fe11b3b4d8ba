import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { KubeletError } from "../base/errors.ts";
import { parseCpuSet } from "../model/cpu-set.ts";
import type { LogicalCpu } from "../model/topology.ts";

interface CpuFiles {
  readonly id: number;
  readonly coreId: string;
  readonly socket: number;
  readonly numaNode: number;
  readonly cache: { readonly id: number; readonly cpus: number } | undefined;
}

/** The lowest level of caches that several cores share. */
const lowestUncoreLevel = 3;

/** The online CPUs of the machine, by ID. `sysfs` is where sysfs is mounted. */
export async function readLogicalCpus(sysfs = "/sys"): Promise<LogicalCpu[]> {
  const dir = join(sysfs, "devices/system/cpu");
  const online = await text(join(dir, "online"));
  const names = (await entries(dir)).filter((name) => /^cpu\d+$/.test(name));
  const isOnline = online === "" ? () => true : (id: number) => onlineSet.has(id);
  const onlineSet = parseCpuSet(online);
  const ids = names.map((name) => Number(name.slice(3))).filter(isOnline);
  const read = await Promise.all(ids.map((id) => readCpu(join(dir, `cpu${id}`), id)));
  const cpus = read.filter((cpu) => cpu !== undefined).sort((a, b) => a.id - b.id);
  if (cpus.length === 0) throw new KubeletError("NoTopology", `could not detect number of cpus: ${dir}`);
  return logicalCpus(cpus);
}

function logicalCpus(cpus: readonly CpuFiles[]): LogicalCpu[] {
  const perNode = countBy(cpus, ({ numaNode }) => numaNode);
  const cores = new Map<string, number>();
  for (const { id, socket, coreId, numaNode } of cpus) {
    const key = `${numaNode}/${socket}/${coreId}`;
    // The kernel numbers cores within their socket; the lowest CPU of a core is unique.
    if (!cores.has(key)) cores.set(key, id);
  }
  return cpus.map(({ id, socket, coreId, numaNode, cache }) => ({
    id,
    core: cores.get(`${numaNode}/${socket}/${coreId}`) ?? id,
    socket,
    numaNode,
    // A cache of the whole NUMA node separates no CPUs within it.
    uncoreCache: cache && cache.cpus !== perNode.get(numaNode) ? cache.id : socket,
  }));
}

/** Undefined for a CPU without topology, which is offline. */
async function readCpu(dir: string, id: number): Promise<CpuFiles | undefined> {
  const [coreId, socket] = await Promise.all([
    text(join(dir, "topology/core_id")),
    text(join(dir, "topology/physical_package_id")),
  ]);
  if (coreId === "" || socket === "") return undefined;
  const node = (await entries(dir)).find((name) => /^node\d+$/.test(name));
  return {
    id,
    coreId,
    // Some ARM machines do not report their sockets: -1.
    socket: Number(socket),
    // Without NUMA nodes the machine counts as one: see `withoutNuma`.
    numaNode: node ? Number(node.slice(4)) : 0,
    cache: await readUncoreCache(join(dir, "cache")),
  };
}

async function readUncoreCache(dir: string): Promise<CpuFiles["cache"]> {
  const names = (await entries(dir)).filter((entry) => /^index\d+$/.test(entry));
  for (const name of names.sort((a, b) => a.length - b.length || (a < b ? -1 : 1))) {
    const read = (file: string) => text(join(dir, name, file));
    if (Number(await read("level")) < lowestUncoreLevel) continue;
    const cpus = parseCpuSet(await read("shared_cpu_list"));
    const id = await read("id");
    return { id: id === "" ? Math.min(...cpus) : Number(id), cpus: cpus.size };
  }
  return undefined;
}

function countBy<T>(items: readonly T[], key: (item: T) => number): Map<number, number> {
  const counts = new Map<number, number>();
  for (const item of items) counts.set(key(item), (counts.get(key(item)) ?? 0) + 1);
  return counts;
}

async function text(path: string): Promise<string> {
  return (await readFile(path, "utf8").catch(() => "")).trim();
}

async function entries(dir: string): Promise<string[]> {
  return readdir(dir).catch(() => []);
}
