/** Limits of a cgroup; absent ones are not changed. */
export interface CgroupResources {
  /** 2 to 262144, as cpu.shares counts; converted for v2. */
  readonly cpuShares?: bigint;
  /** Microseconds in each period; -1: no limit. */
  readonly cpuQuota?: bigint;
  readonly cpuPeriod?: bigint;
  /** Bytes; -1: no limit. */
  readonly memory?: bigint;
  /** -1: no limit. */
  readonly pids?: bigint;
  /** Ignored where the kernel has no cpuset controller. */
  readonly cpuset?: string;
  /** Bytes by page size: "2MB" -> 0. Ignored where the kernel has no hugetlb controller. */
  readonly hugepages?: ReadonlyMap<string, bigint>;
  /** Other files of cgroup v2 ("memory.min"); ignored on v1. */
  readonly unified?: Readonly<Record<string, string>>;
}

export interface RemoveOptions {
  readonly signal?: AbortSignal;
  /** How long to retry while the kernel reports that the cgroup is busy. */
  readonly timeoutMs?: number;
}

/** A path from the root of the hierarchies, such as "/kubepods/burstable". It is never the root itself. */
export type CgroupPath = string;

/** Cgroups by path, the same for v1 and v2. The cgroup driver of the node (cgroupfs or systemd) uses it. */
export interface CgroupFilesystem {
  readonly version: 1 | 2;
  /** True if the cgroup exists in every hierarchy and with every controller that pods need. */
  exists(path: CgroupPath): Promise<boolean>;
  /** Controllers that pods need and the cgroup lacks; undefined if there is no such cgroup. */
  missingControllers(path: CgroupPath): Promise<string[] | undefined>;
  /** Creates the cgroup and its missing parents, and sets its limits. */
  create(path: CgroupPath, resources: CgroupResources): Promise<void>;
  update(path: CgroupPath, resources: CgroupResources): Promise<void>;
  /** Kills all processes in the cgroup and below, and waits until they have ended. A missing cgroup has none. */
  killAll(path: CgroupPath, options?: RemoveOptions): Promise<void>;
  /** Kills all processes in the cgroup and below, and removes it. A missing cgroup is not an error. */
  remove(path: CgroupPath, options?: RemoveOptions): Promise<void>;
  /** Processes in the cgroup and below. */
  pids(path: CgroupPath): Promise<number[]>;
  /** Names of the direct child cgroups; none if it is absent. */
  children(path: CgroupPath): Promise<string[]>;
}
