import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type WallTime, wallTime } from "../../base/time.ts";
import type { Pressure } from "./pressure.ts";

/** The counters of one cgroup and all below it. A part is absent if its controller is missing. */
export interface CgroupUsage {
  readonly cpu?: CpuCounters;
  readonly memory?: MemoryCounters;
  readonly pids?: { readonly current: number; readonly max: number };
  readonly io?: readonly DeviceCounters[];
  readonly pressure: { readonly cpu?: Pressure; readonly memory?: Pressure; readonly io?: Pressure };
}

export interface CpuCounters {
  readonly usageNs: number;
  readonly userNs: number;
  readonly systemNs: number;
  readonly periods: number;
  readonly throttledPeriods: number;
  readonly throttledNs: number;
  readonly burstPeriods: number;
  readonly burstNs: number;
  /** As v1 counts them; converted from the weight of v2. */
  readonly shares: number;
  /** Microseconds in each period; absent if there is no limit. */
  readonly quotaUs?: number;
  readonly periodUs: number;
}

export interface MemoryCounters {
  readonly usage: number;
  readonly maxUsage: number;
  readonly workingSet: number;
  readonly rss: number;
  readonly cache: number;
  readonly mappedFile: number;
  readonly activeFile: number;
  readonly inactiveFile: number;
  readonly kernel: number;
  readonly swap: number;
  /** How often the limit was hit. */
  readonly failures: number;
  /** Killed processes in the cgroup and, on v2, in all below. */
  readonly oomKills: number;
  /** Excludes the cgroups below this one. */
  readonly ownOomKills: number;
  readonly pageFaults: number;
  readonly majorPageFaults: number;
  /** Absent: no limit. */
  readonly limit?: number;
  readonly swapLimit?: number;
  readonly reservation: number;
}

export interface DeviceCounters {
  /** "8:0" */
  readonly device: string;
  readonly reads: number;
  readonly writes: number;
  readonly readBytes: number;
  readonly writeBytes: number;
  /** Bytes by operation, as the kernel names it on v1: "Read", "Write", and there also "Sync", "Discard", "Total" … */
  readonly bytes: Readonly<Record<string, number>>;
}

export type UsageParts = "memory" | "basic" | "all";

export interface CgroupUsageReader {
  readonly version: 1 | 2;
  /**
   * Undefined if there is no such cgroup. "/" is the whole machine. "basic" needs only a few reads: usage of CPU and
   * memory, the limits of memory, and pressure; everything else is 0 or absent. "memory": only usage and limit of memory.
   */
  read(path: string, parts: UsageParts): Promise<CgroupUsage | undefined>;
  children(path: string): Promise<string[]>;
  /** Processes of the cgroup itself. */
  pids(path: string): Promise<number[]>;
  /** When the cgroup was created, in milliseconds since the epoch; undefined if it does not exist. */
  createdAt(path: string): Promise<WallTime | undefined>;
}

/**
 * The time of creation, from an interface file: the time of the directory changes with every cgroup that is created in it. In
 * milliseconds since the epoch; undefined if the cgroup does not exist.
 */
export async function creationTime(dir: string, interfaceFile: string): Promise<WallTime | undefined> {
  const found = await Promise.all(
    [dir, join(dir, interfaceFile)].map((path) =>
      stat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => undefined,
      ),
    ),
  );
  if (found[0] === undefined) return undefined;
  return wallTime(Math.min(...found.filter((time) => time !== undefined)));
}

/** Values above this mean no limit: the kernel rounds its maximum down to a page. */
const unlimited = 2 ** 62;

export function limitOf(text: string | undefined): number | undefined {
  const value = text?.trim();
  if (value === undefined || value === "" || value === "max") return undefined;
  const number = Number(value);
  return Number.isFinite(number) && number >= 0 && number < unlimited ? number : undefined;
}

/** A cgroup path cannot leave the hierarchy. */
export function cgroupDirOf(mount: string, path: string): string {
  if (!path.startsWith("/") || path.split("/").includes("..")) throw new Error(`"${path}" is not a cgroup`);
  return join(mount, path);
}
