import type { WallTime } from "../../lib/base/time.ts";
import type * as api from "../../lib/gen/runtime/v1/api_pb.js";
import { noPressure } from "../../lib/host/cgroups/pressure.ts";
import type {
  ContainerStats,
  CpuStats,
  FsStats,
  IoStats,
  MemoryStats,
  SwapStats,
} from "../../lib/model/stats-summary.ts";
import type { ObservedContainer } from "../state/observed-pods.ts";
import type { CgroupSampler } from "./cgroup-sampler.ts";
import type { CpuRates } from "./cpu-rates.ts";
import type { FsSpace } from "./filesystems.ts";
import { type CgroupStats, psiOf } from "./from-cgroup.ts";
import { runtimeCpu, runtimeFs, runtimeIo, runtimeMemory, runtimeSwap } from "./from-runtime.ts";
import type { FileUsage } from "./log-usage.ts";
import { rfc3339 } from "./times.ts";

export interface ContainerSources {
  readonly runtimeStats: api.ContainerStats | undefined;
  readonly cgroup: string | undefined;
  readonly sampler: CgroupSampler;
  readonly rates: CpuRates;
  readonly psi: boolean;
  /** The PodAndContainerStatsFromCRI gate: the runtime's numbers are preferred to the cgroup's. */
  readonly preferRuntime: boolean;
  /** True on v2, where the kernel measures PSI for each cgroup. */
  readonly hasCgroupPsi: boolean;
  /** True if the machine has swap. */
  readonly canSwap: boolean;
}

/**
 * CPU, memory, I/O and swap of a container: from its cgroup, and from the runtime what the cgroup lacks; the other way round with
 * `preferRuntime`. Runtimes report 0 bytes available, or a huge number, for a container without a limit.
 */
export async function containerUsage(
  container: ObservedContainer,
  from: ContainerSources,
): Promise<ContainerStats> {
  const { runtimeStats, cgroup, sampler, rates, psi } = from;
  const { id, name, createdAt } = container;
  const rate = (at: WallTime, usageNs: number) => rates.rate(id, at, usageNs, createdAt);
  const cpu = runtimeCpu(runtimeStats?.cpu, rate, psi);
  const memory = runtimeMemory(runtimeStats?.memory, psi);
  const io = runtimeIo(runtimeStats?.io, psi);
  const swap = runtimeSwap(runtimeStats?.swap);
  const lacksPsi = from.hasCgroupPsi && psi && cpu?.psi === undefined;
  const lacking = !from.preferRuntime || !cpu || !memory || lacksPsi || (!swap && from.canSwap);
  const kernel: CgroupStats = (lacking && cgroup && (await sampler.stats(cgroup, createdAt))) || {};
  const either = <T>(runtime: T | undefined, counted: T | undefined) =>
    from.preferRuntime ? (runtime ?? counted) : (counted ?? runtime);
  // With the gate, PSI is always reported: zero where neither the runtime nor the kernel measures it.
  const withPsi = <T extends CpuStats | MemoryStats | IoStats>(stats: T | undefined, other: T | undefined) =>
    stats && psi ? { ...stats, psi: stats.psi ?? other?.psi ?? psiOf(noPressure) } : stats;
  const time = cpu?.time ?? kernel.cpu?.time;
  const noIo = time === undefined ? undefined : { time };
  const merged = {
    cpu: withPsi(either(cpu, kernel.cpu), kernel.cpu ?? cpu),
    memory: withPsi(either(memory, kernel.memory), kernel.memory ?? memory),
    io: psi ? withPsi(either(io, kernel.io) ?? noIo, kernel.io) : undefined,
    swap: either(swap, kernel.swap) ?? (from.canSwap ? undefined : noSwap(time)),
  };
  return { name, startTime: rfc3339(createdAt), ...present(merged) };
}

function noSwap(time: string | undefined): SwapStats | undefined {
  return time === undefined ? undefined : { time, swapAvailableBytes: 0, swapUsageBytes: 0 };
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Returns the object without undefined values. */
export function present<T extends object>(values: T): Present<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Present<T>;
}

/** The writable layer of the container. */
export function rootfsOf(
  runtimeStats: api.ContainerStats | undefined,
  space: FsSpace | undefined,
): FsStats | undefined {
  const layer = runtimeFs(runtimeStats?.writableLayer);
  return layer && { ...layer, ...space };
}

export function logsOf(time: string, usage: FileUsage | undefined, space: FsSpace): FsStats | undefined {
  return usage && { time, ...space, usedBytes: usage.bytes, inodesUsed: usage.files };
}
