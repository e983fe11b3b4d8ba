import type { WallTime } from "../../lib/base/time.ts";
import type * as api from "../../lib/gen/runtime/v1/api_pb.js";
import type {
  CpuStats,
  FsStats,
  InterfaceStats,
  IoStats,
  MemoryStats,
  NetworkStats,
  Psi,
  PsiData,
  SwapStats,
} from "../../lib/model/stats-summary.ts";
import { rfc3339, timeOfNs } from "./times.ts";

type Amount = api.UInt64Value | undefined;

/** A field for each present value. */
function amounts<K extends string>(values: Readonly<Record<K, Amount>>): { [Key in K]?: number } {
  const found: { [Key in K]?: number } = {};
  for (const [key, amount] of Object.entries(values) as [K, Amount][])
    if (amount !== undefined) found[key] = Number(amount.value);
  return found;
}

/** Undefined if there is a time without a value. */
export function runtimeCpu(
  cpu: api.CpuUsage | undefined,
  rate: (at: WallTime, usageNs: number) => number,
  psi: boolean,
): CpuStats | undefined {
  if (cpu?.usageCoreNanoSeconds === undefined) return undefined;
  const at = timeOfNs(cpu.timestamp);
  const usageNs = Number(cpu.usageCoreNanoSeconds.value);
  return {
    time: rfc3339(at),
    usageNanoCores: rate(at, usageNs),
    usageCoreNanoSeconds: usageNs,
    ...psiField(cpu.psi, psi),
  };
}

export function runtimeMemory(memory: api.MemoryUsage | undefined, psi: boolean): MemoryStats | undefined {
  if (memory?.workingSetBytes === undefined) return undefined;
  return {
    time: timeOf(memory),
    ...amounts({
      availableBytes: memory.availableBytes,
      usageBytes: memory.usageBytes,
      workingSetBytes: memory.workingSetBytes,
      rssBytes: memory.rssBytes,
      pageFaults: memory.pageFaults,
      majorPageFaults: memory.majorPageFaults,
    }),
    ...psiField(memory.psi, psi),
  };
}

export function runtimeSwap(swap: api.SwapUsage | undefined): SwapStats | undefined {
  if (swap === undefined) return undefined;
  return {
    time: timeOf(swap),
    ...amounts({ swapAvailableBytes: swap.swapAvailableBytes, swapUsageBytes: swap.swapUsageBytes }),
  };
}

export function runtimeIo(io: api.IoUsage | undefined, psi: boolean): IoStats | undefined {
  return io && psi ? { time: timeOf(io), ...psiField(io.psi, psi) } : undefined;
}

export function runtimeFs(fs: api.FilesystemUsage | undefined): FsStats | undefined {
  if (fs === undefined) return undefined;
  return { time: timeOf(fs), ...amounts({ usedBytes: fs.usedBytes, inodesUsed: fs.inodesUsed }) };
}

export function runtimeNetwork(network: api.NetworkUsage | undefined): NetworkStats | undefined {
  if (network === undefined) return undefined;
  const { defaultInterface: main, interfaces } = network;
  return {
    time: timeOf(network),
    ...(main ? interfaceOf(main) : { name: "" }),
    // The default interface only if the runtime lists it, too.
    interfaces: interfaces.map(interfaceOf),
  };
}

function interfaceOf({
  name,
  rxBytes,
  rxErrors,
  txBytes,
  txErrors,
}: api.NetworkInterfaceUsage): InterfaceStats {
  return { name, ...amounts({ rxBytes, rxErrors, txBytes, txErrors }) };
}

function timeOf({ timestamp }: { readonly timestamp: bigint }): string {
  return rfc3339(timeOfNs(timestamp));
}

function psiField(psi: api.PsiStats | undefined, enabled: boolean): { psi?: Psi } {
  return psi && enabled ? { psi: { full: psiData(psi.Full), some: psiData(psi.Some) } } : {};
}

function psiData(data: api.PsiData | undefined): PsiData {
  const { Total = 0n, Avg10 = 0, Avg60 = 0, Avg300 = 0 } = data ?? {};
  return { total: Number(Total), avg10: Avg10, avg60: Avg60, avg300: Avg300 };
}
