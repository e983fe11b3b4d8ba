import type { ReferenceLimits } from "./reference-pods.ts";

const pageBytes = 4096;
const defaultPeriodUs = 100_000;
/** The memory limit that a v1 kernel reports for a cgroup without one. */
const unlimited = "9223372036854771712";

/** The contents of the files of a pod's cgroup, if its limits are those of the reference; by controller on v1. */
export function kernelValues(version: 1 | 2, limits: ReferenceLimits): Record<string, string> {
  const { cpuQuota = 0, cpuPeriod = defaultPeriodUs, memory = 0, pids } = limits;
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
