import { noPressure, type Pressure } from "../../lib/host/cgroups/pressure.ts";
import type { CgroupUsage, CpuCounters, MemoryCounters } from "../../lib/host/cgroups/usage.ts";
import type { CpuStats, IoStats, MemoryStats, Psi, SwapStats } from "../../lib/model/stats-summary.ts";

/** The stats of one cgroup in a summary. */
export interface CgroupStats {
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly io?: IoStats;
  readonly swap?: SwapStats;
}

export interface CgroupStatsOptions {
  readonly time: string;
  readonly usage: CgroupUsage;
  readonly nanoCores: number;
  /** The KubeletPSI gate. */
  readonly psi: boolean;
  /** The sizes of the whole machine, whose root cgroup has no limits. */
  readonly machine?: { readonly memoryBytes: number; readonly swapBytes: number };
}

export function cgroupStats(o: CgroupStatsOptions): CgroupStats {
  const { time, usage, psi } = o;
  const psiField = (of: Pressure | undefined) => (psi ? { psi: psiOf(of ?? noPressure) } : {});
  return {
    ...(usage.cpu && { cpu: { ...cpuOf(o, usage.cpu), ...psiField(usage.pressure.cpu) } }),
    ...(usage.memory && { memory: { ...memoryOf(o, usage.memory), ...psiField(usage.pressure.memory) } }),
    ...(psi && { io: { time, ...psiField(usage.pressure.io) } }),
    ...(usage.memory && { swap: swapOf(o, usage.memory) }),
  };
}

function cpuOf({ time, nanoCores }: CgroupStatsOptions, cpu: CpuCounters): CpuStats {
  return { time, usageNanoCores: nanoCores, usageCoreNanoSeconds: cpu.usageNs };
}

function memoryOf({ time, machine }: CgroupStatsOptions, memory: MemoryCounters): MemoryStats {
  const limit = machine?.memoryBytes ?? memory.limit;
  return {
    time,
    ...(limit !== undefined && { availableBytes: Math.max(0, limit - memory.workingSet) }),
    usageBytes: memory.usage,
    workingSetBytes: memory.workingSet,
    rssBytes: memory.rss,
    pageFaults: memory.pageFaults,
    majorPageFaults: memory.majorPageFaults,
  };
}

function swapOf({ time, machine }: CgroupStatsOptions, memory: MemoryCounters): SwapStats {
  const limit = machine?.swapBytes ?? memory.swapLimit;
  return {
    time,
    ...(limit !== undefined && { swapAvailableBytes: Math.max(0, limit - memory.swap) }),
    swapUsageBytes: memory.swap,
  };
}

export function psiOf({ some, full }: Pressure): Psi {
  return { full: { ...full }, some: { ...some } };
}
