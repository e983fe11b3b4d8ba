import type { CgroupResources } from "../../../lib/host/cgroups/cgroup-filesystem.ts";
import {
  amountsOf,
  milliCpuToShares,
  milliOf,
  type ResourceAmounts,
  wholeOf,
} from "../../../lib/model/resources.ts";
import type { LimitSettings } from "./limits.ts";

type ResourceList = Readonly<Record<string, string>>;

/** The settings of enforceNodeAllocatable and the reservations. */
export interface Enforcement {
  /** enforceNodeAllocatable */
  readonly levels: readonly string[];
  /** The capacity of the machine: cpu, memory and pid. */
  readonly capacity: ResourceList;
  readonly systemReserved: ResourceList;
  readonly systemReservedCgroup: string;
  readonly kubeReserved: ResourceList;
  readonly kubeReservedCgroup: string;
  /** The MemoryQoS gate, on a host with cgroup v2. */
  readonly memoryQos: boolean;
  readonly hugepageSizes: readonly string[];
  /** CPUs of the machine ("0-7"), for hosts with cgroup v2; undefined on others. */
  readonly cpus?: string | undefined;
}

/** A cgroup of daemons, and the resources that are reserved for them. */
export interface ReservedCgroup {
  readonly cgroup: string;
  readonly resources: CgroupResources;
  /** As it appears in error messages. */
  readonly title: string;
  readonly of: "system reserved" | "kube reserved";
}

/**
 * The limits of all pods together: the capacity, without the reservations if "pods" is enforced. Eviction thresholds are not
 * subtracted: pods are evicted before the limit is reached.
 */
export function podsEnforcement(e: Enforcement): CgroupResources {
  const amounts = e.levels.includes("pods") ? unreserved(e) : amountsOf(e.capacity);
  // systemd removes controllers that it does not know about, so cpuset has to be set even though it limits nothing.
  return { ...limitsOf(amounts), ...(e.cpus !== undefined && { cpuset: e.cpus }) };
}

/**
 * qosReserved: a share ("50%") of the requested memory is reserved. The allocatable memory is what is not reserved for daemons, regardless
 * of what is enforced.
 */
export function reservedForQos(share: string | undefined, e: Enforcement): LimitSettings["qosReserved"] {
  if (share === undefined) return undefined;
  return {
    memoryPercent: BigInt(Number.parseInt(share, 10)),
    allocatableMemory: wholeOf(unreserved(e), "memory"),
  };
}

function unreserved(e: Enforcement): ResourceAmounts {
  const amounts = new Map(amountsOf(e.capacity));
  for (const reserved of [amountsOf(e.systemReserved), amountsOf(e.kubeReserved)])
    for (const [name, amount] of amounts) {
      const left = amount - (reserved.get(name) ?? 0n);
      amounts.set(name, left < 0n ? 0n : left);
    }
  return amounts;
}

const rows = [
  { level: "system-reserved", title: "System Reserved", kind: "system", compressible: false },
  { level: "kube-reserved", title: "Kube Reserved", kind: "kube", compressible: false },
  {
    level: "system-reserved-compressible",
    title: "System Reserved Compressible",
    kind: "system",
    compressible: true,
  },
  {
    level: "kube-reserved-compressible",
    title: "Kube Reserved Compressible",
    kind: "kube",
    compressible: true,
  },
] as const;

/** The cgroups on which reservations are enforced, in order. Only CPU is compressible. */
export function reservedCgroups(e: Enforcement): ReservedCgroup[] {
  return rows
    .filter(({ level }) => e.levels.includes(level))
    .map(({ title, kind, compressible }) => {
      const amounts = amountsOf(kind === "system" ? e.systemReserved : e.kubeReserved);
      const { cpuShares, ...rest } = limitsOf(amounts);
      const protection =
        e.memoryQos && rest.memory !== undefined ? { unified: { "memory.min": String(rest.memory) } } : {};
      return {
        cgroup: kind === "system" ? e.systemReservedCgroup : e.kubeReservedCgroup,
        title,
        of: `${kind} reserved` as const,
        resources: {
          ...(cpuShares !== undefined && { cpuShares }),
          ...(!compressible && { ...rest, ...protection }),
          // Huge pages cannot be reserved for daemons.
          hugepages: new Map(e.hugepageSizes.map((size) => [size, 0n])),
          ...(e.cpus !== undefined && { cpuset: e.cpus }),
        },
      };
    });
}

function limitsOf(amounts: ResourceAmounts): CgroupResources {
  return {
    ...(amounts.has("cpu") && { cpuShares: milliCpuToShares(milliOf(amounts, "cpu")) }),
    // 0 is no limit.
    ...(wholeOf(amounts, "memory") > 0n && { memory: wholeOf(amounts, "memory") }),
    ...(amounts.has("pid") && { pids: wholeOf(amounts, "pid") }),
  };
}
