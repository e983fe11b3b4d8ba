import type { Variant } from "../../../lib/clients/dbus/value.ts";
import type { UnitProperty } from "../../../lib/clients/systemd/systemd-client.ts";
import type { CgroupResources } from "../../../lib/host/cgroups/cgroup-filesystem.ts";
import { sharesToWeight } from "../../../lib/host/cgroups/weight.ts";

export interface SystemdLimits {
  readonly properties: readonly UnitProperty[];
  /** The values for the files of the cgroup. They have the CPU quota of the properties, which systemd rounds to whole percent. */
  readonly resources: CgroupResources;
}

/** USEC_INFINITY, CGROUP_LIMIT_MAX: no limit. */
const infinity = (1n << 64n) - 1n;
const defaultPeriodUs = 100_000n;
const second = 1_000_000n;
const percent = 10_000n;
/** The versions of systemd that introduced CPUQuotaPeriodUSec, and AllowedCPUs with AllowedMemoryNodes, and idle CPU weights. */
const since = { quotaPeriod: 242, cpuset: 244, cpuIdle: 252 };

/** The limits as properties of a unit. What systemd does not support, such as huge pages, is only in the files. */
export function systemdLimits(
  resources: CgroupResources,
  cgroupVersion: 1 | 2,
  systemdVersion: number,
): SystemdLimits {
  const { cpuShares, memory, pids, cpuset } = resources;
  const properties: UnitProperty[] = [];
  const add = (name: string, value: bigint) => properties.push([name, { signature: "t", value }]);
  const addQuota = (quota: bigint, period: bigint) => {
    if (period !== 0n && systemdVersion >= since.quotaPeriod) add("CPUQuotaPeriodUSec", period);
    const perSecond = quotaPerSecond(quota, period || defaultPeriodUs);
    add("CPUQuotaPerSecUSec", perSecond);
    return quota > 0n ? (perSecond * (period || defaultPeriodUs)) / second : quota;
  };
  const addCpuset = (name: string, list: string) => {
    if (systemdVersion >= since.cpuset) properties.push([name, { signature: "ay", value: cpuBits(list) }]);
  };
  if (memory) add(cgroupVersion === 2 ? "MemoryMax" : "MemoryLimit", limit(memory));
  if (cpuShares && cgroupVersion === 2) add("CPUWeight", sharesToWeight(cpuShares));
  if (cpuShares && cgroupVersion === 1) add("CPUShares", cpuShares);
  const { cpuQuota = 0n, cpuPeriod = 0n } = resources;
  const quota = cpuQuota || cpuPeriod ? addQuota(cpuQuota, cpuPeriod) : undefined;
  if (pids !== undefined) add("TasksMax", tasksMax(pids));
  if (cpuset) addCpuset("AllowedCPUs", cpuset);
  const unified = cgroupVersion === 2 ? (resources.unified ?? {}) : {};
  const idle = unified["cpu.idle"]?.trim() === "1" && systemdVersion >= since.cpuIdle;
  for (const [file, text] of Object.entries(unified)) {
    const value = text.trim();
    const memoryProperty = memoryProperties[file];
    if (memoryProperty) add(memoryProperty, limitOf(value));
    else if (file === "pids.max") add("TasksMax", tasksMax(limitOf(value)));
    // systemd expresses idle as a weight of 0.
    else if (file === "cpu.idle" && idle) add("CPUWeight", 0n);
    else if (file === "cpu.weight" && !idle) add("CPUWeight", BigInt(value));
    else if (file === "cpu.max") {
      const [most = "max", period] = value.split(/\s+/);
      addQuota(most === "max" ? 0n : BigInt(most), period ? BigInt(period) : defaultPeriodUs);
    } else if (file === "cpuset.cpus") addCpuset("AllowedCPUs", value);
    else if (file === "cpuset.mems") addCpuset("AllowedMemoryNodes", value);
  }
  return {
    properties,
    resources: cpuQuota > 0n && quota !== undefined ? { ...resources, cpuQuota: quota } : resources,
  };
}

const memoryProperties: Readonly<Record<string, string>> = {
  "memory.high": "MemoryHigh",
  "memory.low": "MemoryLow",
  "memory.min": "MemoryMin",
  "memory.max": "MemoryMax",
  "memory.swap.max": "MemorySwapMax",
};

/** Microseconds of each second, rounded up to whole percent, so that no child cgroup has more than its parent. */
function quotaPerSecond(quota: bigint, period: bigint): bigint {
  if (quota <= 0n) return infinity;
  const exact = (quota * second) / period;
  return ((exact + percent - 1n) / percent) * percent;
}

function limit(value: bigint): bigint {
  return value < 0n ? infinity : value;
}

function limitOf(value: string): bigint {
  return value === "max" ? infinity : BigInt(value);
}

/** systemd rejects 0. */
function tasksMax(pids: bigint): bigint {
  return pids === 0n ? 1n : limit(pids);
}

/** Converts a list such as "0-2,8" to a bit mask whose first byte has the lowest numbers. */
function cpuBits(list: string): Uint8Array {
  const numbers = list.split(",").flatMap((range) => {
    const [first = 0, last = first] = range.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
  const bits = new Uint8Array(Math.floor(Math.max(...numbers) / 8) + 1);
  for (const number of numbers) bits[number >> 3]! |= 1 << (number & 7);
  return bits;
}

/** The properties that a new slice gets: accounting is enabled for all controllers, as in a cgroup created with mkdir. */
export function sliceProperties(name: string, parent: string, cgroupVersion: 1 | 2): UnitProperty[] {
  const yes: Variant = { signature: "b", value: true };
  return [
    ["Description", { signature: "s", value: `libcontainer container ${name}` }],
    ["Wants", { signature: "as", value: [parent] }],
    ["MemoryAccounting", yes],
    ["CPUAccounting", yes],
    [cgroupVersion === 2 ? "IOAccounting" : "BlockIOAccounting", yes],
    ["TasksAccounting", yes],
    ["DefaultDependencies", { signature: "b", value: false }],
  ];
}
