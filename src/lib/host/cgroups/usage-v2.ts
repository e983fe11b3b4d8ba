import type { WallTime } from "../../base/time.ts";
import type { CgroupFiles } from "./files.ts";
import { InterfaceFiles } from "./interface-files.ts";
import { readMachineMemory } from "./machine-memory.ts";
import { parsePressure } from "./pressure.ts";
import { readPids } from "./tree.ts";
import {
  type CgroupUsage,
  type CgroupUsageReader,
  type CpuCounters,
  cgroupDirOf,
  creationTime,
  type DeviceCounters,
  limitOf,
  type MemoryCounters,
  type UsageParts,
} from "./usage.ts";
import { weightToShares } from "./weight.ts";

/**
 * All controllers share one directory. The root has no memory counters: the machine's counters are used. The libraries of the reference
 * kubelet use the same formulas, which leave some counters at 0.
 */
export class V2UsageReader implements CgroupUsageReader {
  readonly version = 2;
  readonly #root: string;
  readonly #files: Pick<CgroupFiles, "read" | "dirs">;
  readonly #meminfo: string;

  constructor(root: string, files: Pick<CgroupFiles, "read" | "dirs">, meminfo = "/proc/meminfo") {
    this.#root = root;
    this.#files = files;
    this.#meminfo = meminfo;
  }

  async read(path: string, parts: UsageParts): Promise<CgroupUsage | undefined> {
    const all = parts === "all";
    const files = new InterfaceFiles(this.#files, cgroupDirOf(this.#root, path));
    const [cpu, memory, pids, io, pressure] = await Promise.all([
      parts === "memory" ? undefined : cpuOf(files, all),
      path === "/" ? this.#machineMemory(files) : memoryOf(files, parts),
      all ? pidsOf(files) : undefined,
      all ? files.text("io.stat") : undefined,
      parts === "memory" ? {} : pressureOf(files),
    ]);
    if (!cpu && !memory && !pids) return undefined;
    return {
      ...(cpu && { cpu }),
      ...(memory && { memory }),
      ...(pids && { pids }),
      ...(io !== undefined && { io: parseIoStat(io) }),
      pressure,
    };
  }

  async children(path: string): Promise<string[]> {
    return this.#files.dirs(cgroupDirOf(this.#root, path));
  }

  pids(path: string): Promise<number[]> {
    return readPids(this.#files as CgroupFiles, cgroupDirOf(this.#root, path));
  }

  createdAt(path: string): Promise<WallTime | undefined> {
    return creationTime(cgroupDirOf(this.#root, path), "cgroup.events");
  }

  async #machineMemory(files: InterfaceFiles): Promise<MemoryCounters | undefined> {
    const [machine, stat] = await Promise.all([
      readMachineMemory(this.#files, this.#meminfo),
      files.flatKeyed("memory.stat"),
    ]);
    // MemTotal - MemFree would contain slab, huge pages and page tables.
    const usage = (stat?.get("anon") ?? 0) + (stat?.get("file") ?? 0);
    const { total: limit, swapTotal: swapLimit, swapFree } = machine;
    return {
      ...countsOf(stat ?? new Map(), { usage, swap: swapLimit - swapFree }),
      limit,
      swapLimit,
    };
  }
}

async function cpuOf(files: InterfaceFiles, all: boolean): Promise<CpuCounters | undefined> {
  const [stat, weight, max] = await Promise.all([
    files.flatKeyed("cpu.stat"),
    all ? files.number("cpu.weight") : undefined,
    all ? files.text("cpu.max") : undefined,
  ]);
  if (!stat) return undefined;
  const ns = (key: string) => (stat.get(key) ?? 0) * 1000;
  // The root has no such file.
  const [quota, period] = (max ?? "max 0").trim().split(" ");
  const quotaUs = limitOf(quota);
  return {
    usageNs: ns("usage_usec"),
    userNs: ns("user_usec"),
    systemNs: ns("system_usec"),
    periods: stat.get("nr_periods") ?? 0,
    throttledPeriods: stat.get("nr_throttled") ?? 0,
    throttledNs: ns("throttled_usec"),
    burstPeriods: stat.get("nr_bursts") ?? 0,
    burstNs: ns("burst_usec"),
    shares: weight === undefined ? 0 : Number(weightToShares(BigInt(weight))),
    periodUs: limitOf(period) ?? 0,
    ...(quotaUs !== undefined && { quotaUs }),
  };
}

async function memoryOf(files: InterfaceFiles, parts: UsageParts): Promise<MemoryCounters | undefined> {
  const usage = await files.number("memory.current");
  if (usage === undefined) return undefined;
  const more = parts === "all" ? files : undefined;
  const swapFiles = parts === "memory" ? undefined : files;
  const [stat, peak, max, swap, swapMax, min, events, local] = await Promise.all([
    files.flatKeyed("memory.stat"),
    more?.number("memory.peak"),
    files.text("memory.max"),
    swapFiles?.number("memory.swap.current"),
    swapFiles ? swapFiles.text("memory.swap.max") : "max",
    more?.text("memory.min"),
    more?.flatKeyed("memory.events"),
    more?.flatKeyed("memory.events.local"),
  ]);
  const oomKills = events?.get("oom_kill") ?? 0;
  const limit = limitOf(max);
  // A kernel without swap has no such file: 0, as in the reference kubelet.
  const swapLimit = limitOf(swapMax ?? "0");
  return {
    ...countsOf(stat ?? new Map(), { usage, swap: swap ?? 0 }),
    maxUsage: peak ?? 0,
    oomKills,
    // Kernels before 5.2 do not count them.
    ownOomKills: local?.get("oom_kill") ?? oomKills,
    reservation: limitOf(min) ?? 0,
    ...(limit !== undefined && { limit }),
    ...(swapLimit !== undefined && { swapLimit }),
  };
}

function countsOf(stat: ReadonlyMap<string, number>, total: { usage: number; swap: number }): MemoryCounters {
  const count = (key: string) => stat.get(key) ?? 0;
  return {
    ...total,
    maxUsage: 0,
    workingSet: Math.max(0, total.usage - count("inactive_file")),
    rss: count("anon"),
    cache: count("file"),
    mappedFile: count("file_mapped"),
    activeFile: count("active_file"),
    inactiveFile: count("inactive_file"),
    kernel: 0,
    failures: 0,
    oomKills: 0,
    ownOomKills: 0,
    pageFaults: count("pgfault"),
    majorPageFaults: count("pgmajfault"),
    reservation: 0,
  };
}

async function pidsOf(files: InterfaceFiles): Promise<CgroupUsage["pids"]> {
  const [current, max] = await Promise.all([files.number("pids.current"), files.text("pids.max")]);
  if (current !== undefined) return { current, max: limitOf(max) ?? 0 };
  // The root, and cgroups without the controller: the processes count.
  const processes = await files.text("cgroup.procs");
  return processes === undefined ? undefined : { current: processes.split("\n").length - 1, max: 0 };
}

async function pressureOf(files: InterfaceFiles): Promise<CgroupUsage["pressure"]> {
  const [cpu, memory, io] = await Promise.all(
    ["cpu.pressure", "memory.pressure", "io.pressure"].map((name) => files.text(name)),
  );
  return {
    ...(cpu !== undefined && { cpu: parsePressure(cpu) }),
    ...(memory !== undefined && { memory: parsePressure(memory) }),
    ...(io !== undefined && { io: parsePressure(io) }),
  };
}

/** "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0" lines. */
function parseIoStat(text: string): DeviceCounters[] {
  return text.split("\n").flatMap((line) => {
    const [device = "", ...pairs] = line.trim().split(" ");
    // A line without counters: a device that this cgroup never used.
    if (!/^\d+:\d+$/.test(device) || pairs.length === 0) return [];
    const values = new Map(pairs.map((pair) => pair.split("=") as [string, string]));
    const count = (key: string) => Number(values.get(key) ?? 0) || 0;
    return [
      {
        device,
        reads: count("rios"),
        writes: count("wios"),
        readBytes: count("rbytes"),
        writeBytes: count("wbytes"),
        bytes: { Read: count("rbytes"), Write: count("wbytes") },
      },
    ];
  });
}
