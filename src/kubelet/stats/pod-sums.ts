import type { ContainerStats, CpuStats, MemoryStats, SwapStats } from "../../lib/model/stats-summary.ts";

/** The usage of a pod without pod-level stats: the sum of its containers. */
export function sumOfContainers(containers: readonly ContainerStats[]): {
  cpu?: CpuStats;
  memory?: MemoryStats;
  swap?: SwapStats;
} {
  const cpu = sum(
    containers.map((c) => c.cpu),
    ["usageNanoCores", "usageCoreNanoSeconds"],
  );
  const memory = sum(
    containers.map((c) => c.memory),
    ["availableBytes", "usageBytes", "workingSetBytes", "rssBytes", "pageFaults", "majorPageFaults"],
  );
  const swap = sum(
    containers.map((c) => c.swap),
    ["swapAvailableBytes", "swapUsageBytes"],
  );
  return { ...(cpu && { cpu }), ...(memory && { memory }), ...(swap && { swap }) };
}

/** Returns the sum with the newest time. Missing values count as 0. */
function sum<K extends string, T extends { readonly time: string } & { readonly [Key in K]?: number }>(
  parts: readonly (T | undefined)[],
  keys: readonly K[],
): ({ time: string } & { [Key in K]?: number }) | undefined {
  const known = parts.filter((part) => part !== undefined);
  if (known.length === 0) return undefined;
  const time = known
    .map((part) => part.time)
    .sort(byText)
    .at(-1)!;
  const total: { [Key in K]?: number } = {};
  for (const key of keys) {
    const values = known
      .map((part) => part[key])
      .filter((value): value is T[K] & number => value !== undefined);
    if (values.length > 0) total[key] = values.reduce((a: number, b: number) => a + b, 0);
  }
  return { time, ...total };
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
