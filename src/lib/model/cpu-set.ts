import { KubeletError } from "../base/errors.ts";

export type CpuSet = ReadonlySet<number>;

export const noCpus: CpuSet = new Set();

/** The maximum CPU number. No kernel supports that many, and a larger number would be a mistake that fills the memory. */
const maxCpus = 1 << 16;

/** The set of a list such as "0-3,8"; throws if it is not one. */
export function parseCpuSet(text: string): CpuSet {
  const ranges: [first: number, last: number][] = [];
  for (const range of text === "" ? [] : text.split(",")) {
    const match = /^(\d+)(?:-(\d+))?$/.exec(range);
    const first = Number(match?.[1]);
    const last = Number(match?.[2] ?? match?.[1]);
    if (!match || last >= maxCpus)
      throw new KubeletError("InvalidCpuSet", `${JSON.stringify(range)} is not a CPU or a range of CPUs`);
    if (first > last)
      throw new KubeletError("InvalidCpuSet", `invalid range ${JSON.stringify(range)} (${first} > ${last})`);
    ranges.push([first, last]);
  }
  // In order, so that each CPU is added once, however many ranges contain it.
  const cpus = new Set<number>();
  let next = 0;
  for (const [first, last] of ranges.sort(([a], [b]) => a - b))
    for (next = Math.max(next, first); next <= last; next++) cpus.add(next);
  return cpus;
}

/** The list as the kernel writes it: "0-3,8", and "" for no CPU. */
export function formatCpuSet(cpus: Iterable<number>): string {
  const ranges: [number, number][] = [];
  for (const cpu of sortedCpus(cpus)) {
    const last = ranges.at(-1);
    if (last && last[1] + 1 === cpu) last[1] = cpu;
    else ranges.push([cpu, cpu]);
  }
  return ranges.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}

export function sortedCpus(cpus: Iterable<number>): number[] {
  return [...cpus].sort((a, b) => a - b);
}

export function isSameCpuSet(a: CpuSet, b: CpuSet): boolean {
  return a.size === b.size && a.isSubsetOf(b);
}
