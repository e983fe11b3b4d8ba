import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CgroupLayout } from "../../src/lib/host/cgroups/mounted-cgroups.ts";
import type { ReferenceLimits } from "./reference-pods.ts";

const pageBytes = 4096;
const defaultPeriodUs = 100_000;
/** The memory limit that cgroup v1 reports for a cgroup without one. */
const unlimited = "9223372036854771712";

/** The contents of the files of a pod's cgroup if it has the limits of the reference kubelet; by controller on v1. */
export function kernelValues(
  version: 1 | 2,
  limits: ReferenceLimits,
  driver: "cgroupfs" | "systemd" = "cgroupfs",
): Record<string, string> {
  const { cpuPeriod = defaultPeriodUs, memory = 0, pids } = limits;
  const cpuQuota =
    driver === "systemd" ? wholePercents(limits.cpuQuota ?? 0, cpuPeriod) : (limits.cpuQuota ?? 0);
  const bytes = memory > 0 ? String(memory - (memory % pageBytes)) : undefined;
  if (version === 1)
    return {
      "cpu/cpu.shares": String(limits.cpuShares),
      "cpu/cpu.cfs_quota_us": String(cpuQuota > 0 ? cpuQuota : -1),
      "cpu/cpu.cfs_period_us": String(cpuPeriod),
      "memory/memory.limit_in_bytes": bytes ?? unlimited,
      "pids/pids.max": pids === undefined ? "max" : String(pids),
    };
  return {
    "cpu.weight": String(limits.cpuWeight),
    "cpu.max": `${cpuQuota > 0 ? cpuQuota : "max"} ${cpuPeriod}`,
    "memory.max": bytes ?? "max",
    "pids.max": pids === undefined ? "max" : String(pids),
    "memory.min": protectedBytes(limits, "memory.min"),
    "memory.low": protectedBytes(limits, "memory.low"),
  };
}

function protectedBytes({ unified }: ReferenceLimits, file: string): string {
  const bytes = Number(unified?.[file] ?? 0);
  return String(bytes - (bytes % pageBytes));
}

/** systemd counts in hundredths of a CPU, and the reference kubelet rounds up. */
function wholePercents(quota: number, period: number): number {
  return quota > 0
    ? (Math.ceil(Math.floor((quota * 1_000_000) / period) / 10_000) * 10_000 * period) / 1_000_000
    : quota;
}

/** The contents of files of a cgroup, named as above; "absent" for one that does not exist. */
export async function contentsOf(
  layout: CgroupLayout,
  path: string,
  names: readonly string[],
): Promise<Record<string, string>> {
  const read = async (name: string) => {
    const [controller = "", file = ""] = layout.version === 1 ? name.split("/") : ["", name];
    const dir = layout.version === 1 ? (layout.mounts.get(controller) ?? "") : layout.root;
    return [name, (await readFile(join(dir, path, file), "utf8").catch(() => "absent")).trim()];
  };
  return Object.fromEntries(await Promise.all(names.map(read)));
}
