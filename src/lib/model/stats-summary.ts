/**
 * The response of /stats/summary (stats/v1alpha1). Times are RFC 3339 in whole seconds; amounts
 * are numbers, which are exact up to 2^53.
 */
export interface Summary {
  readonly node: NodeStats;
  readonly pods: readonly PodStats[];
}

export interface NodeStats {
  readonly nodeName: string;
  readonly systemContainers?: readonly ContainerStats[];
  readonly startTime: string;
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly io?: IoStats;
  readonly network?: NetworkStats;
  readonly fs?: FsStats;
  readonly runtime?: { readonly imageFs?: FsStats; readonly containerFs?: FsStats };
  readonly rlimit?: RlimitStats;
  readonly swap?: SwapStats;
}

export interface PodStats {
  readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly startTime: string;
  readonly containers: readonly ContainerStats[];
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly io?: IoStats;
  readonly network?: NetworkStats;
  readonly volume?: readonly VolumeStats[];
  readonly "ephemeral-storage"?: FsStats;
  readonly process_stats?: { readonly process_count: number };
  readonly swap?: SwapStats;
}

export interface ContainerStats {
  readonly name: string;
  readonly startTime: string;
  readonly cpu?: CpuStats;
  readonly memory?: MemoryStats;
  readonly io?: IoStats;
  readonly rootfs?: FsStats;
  readonly logs?: FsStats;
  readonly swap?: SwapStats;
}

export interface CpuStats {
  readonly time: string;
  /** The rate between two samples. */
  readonly usageNanoCores?: number;
  readonly usageCoreNanoSeconds?: number;
  readonly psi?: Psi;
}

export interface MemoryStats {
  readonly time: string;
  /** Up to the limit; absent if there is none. */
  readonly availableBytes?: number;
  readonly usageBytes?: number;
  /** Memory that cannot be reclaimed easily: usage less the inactive file pages. */
  readonly workingSetBytes?: number;
  readonly rssBytes?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
  readonly psi?: Psi;
}

export interface IoStats {
  readonly time: string;
  readonly psi?: Psi;
}

export interface Psi {
  readonly full: PsiData;
  readonly some: PsiData;
}

export interface PsiData {
  /** As the kernel counts: microseconds. */
  readonly total: number;
  /** Percent. */
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

export interface SwapStats {
  readonly time: string;
  readonly swapAvailableBytes?: number;
  readonly swapUsageBytes?: number;
}

export interface InterfaceStats {
  readonly name: string;
  readonly rxBytes?: number;
  readonly rxErrors?: number;
  readonly txBytes?: number;
  readonly txErrors?: number;
}

/** The network usage of a pod or the node. Its own fields are those of the default interface, if that exists. */
export interface NetworkStats extends Partial<InterfaceStats> {
  readonly time: string;
  readonly name: string;
  readonly interfaces?: readonly InterfaceStats[];
}

export interface FsStats {
  readonly time: string;
  readonly availableBytes?: number;
  readonly capacityBytes?: number;
  readonly usedBytes?: number;
  readonly inodesFree?: number;
  readonly inodes?: number;
  readonly inodesUsed?: number;
}

export interface VolumeStats extends FsStats {
  readonly name: string;
  readonly pvcRef?: { readonly name: string; readonly namespace: string };
  readonly volumeHealthStats?: { readonly abnormal: boolean };
}

export interface RlimitStats {
  readonly time: string;
  readonly maxpid?: number;
  readonly curproc?: number;
}
