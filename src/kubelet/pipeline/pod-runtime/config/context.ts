import type { MessageInitShape } from "@bufbuild/protobuf";
import type * as api from "../../../../lib/gen/runtime/v1/api_pb.js";
import type { PodLevelManagers } from "../../../../lib/model/exclusive-cpus.ts";
import type { Container, Pod } from "../../../../lib/model/pod.ts";
import type { DnsConfig } from "../../../pods/network/resolv-conf.ts";

export type MountInit = MessageInitShape<typeof api.MountSchema>;
export type DeviceInit = MessageInitShape<typeof api.DeviceSchema>;
export type UserNamespaceInit = MessageInitShape<typeof api.UserNamespaceSchema>;

/** The properties of the node that the builders need. */
export interface NodeInfo {
  /** The node's addresses, the preferred one first. */
  readonly hostIps: readonly string[];
  /** Bytes. */
  readonly memoryCapacity: bigint;
  readonly swapCapacity: bigint;
  /** The default of limits in the downward API: {"cpu": "2", "memory": "8Gi"}. */
  readonly allocatable: Readonly<Record<string, string>>;
  readonly cgroupVersion: 1 | 2;
  /** True if the kernel can limit swap (memsw on v1, memory.swap.max on v2). */
  readonly swapAccounting: boolean;
  /** Page sizes of the host as the hugetlb controller writes them: ["2MB", "1GB"]. */
  readonly hugepageSizes: readonly string[];
  readonly pageSize: bigint;
  readonly selinux: boolean;
  /** Paths to mask besides the default ones, such as the thermal_throttle directories of CPUs. */
  readonly extraMaskedPaths: readonly string[];
}

/** The configuration that the builders need. */
export interface RuntimeSettings {
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodUs: bigint;
  /** A container has no quota if it requests exclusive CPUs, and gets them. */
  readonly noQuotaOnExclusiveCpus?: boolean;
  /** Whether containers of pods with pod-level resources can have exclusive CPUs. */
  readonly podLevelManagers?: PodLevelManagers | undefined;
  readonly seccompDefault: boolean;
  readonly swapBehavior: "NoSwap" | "LimitedSwap";
  /** True: an OOM kills one process; false: the whole container (cgroup v2 only). */
  readonly singleProcessOomKill: boolean;
  readonly memoryThrottlingFactor: number;
  readonly memoryReservationPolicy: "None" | "TieredReservation";
  readonly gates: {
    readonly podLevelResources: boolean;
    readonly memoryQos: boolean;
    readonly containerStopSignals: boolean;
    /** True by default. */
    readonly envFiles?: boolean;
  };
}

/** Lists for the kernel ("0-3,8"); a container may use all CPUs or NUMA nodes unless set. */
export interface Cpusets {
  readonly cpus?: string;
  readonly mems?: string;
}

interface PodContext {
  readonly node: NodeInfo;
  readonly settings: RuntimeSettings;
  /** Groups of persistent volumes. */
  readonly extraGroups?: readonly number[];
  /** ID mappings for pods with hostUsers: false. */
  readonly userNamespace?: UserNamespaceInit;
}

export interface SandboxContext extends PodContext {
  readonly attempt: number;
  readonly dns: DnsConfig;
  /** The host name of the sandbox; not used for pods on the host network. */
  readonly hostname: string;
  readonly cgroupParent: string;
}

/** Objects that environment variables refer to. Undefined means that there is no such object; any other error is thrown. */
export interface EnvObjects {
  configMap(namespace: string, name: string): Readonly<Record<string, string>> | undefined;
  /** Decoded values. */
  secret(namespace: string, name: string): Readonly<Record<string, string>> | undefined;
}

/** The type of a field that the published types do not have yet. */
export interface FileKeyRef {
  readonly volumeName: string;
  readonly path: string;
  readonly key: string;
  readonly optional?: boolean;
}

export interface FileKey {
  /** Where the file is on the node. */
  readonly path: string;
  readonly value: string | undefined;
}

export interface ContainerContext extends PodContext {
  /** The restart count. */
  readonly attempt: number;
  readonly imageRef: string;
  readonly cpusets?: Cpusets;
  /** The user of the image: a number, a name, or neither (then root). */
  readonly imageUser: ImageUser;
  readonly podIps: readonly string[];
  /** The name of the termination message file, in the container's directory. */
  readonly terminationFile: string;
  /** Environment variables of services, without the container's own. */
  readonly serviceEnv?: Readonly<Record<string, string>>;
  readonly envObjects?: EnvObjects;
  /** A key in a file of a volume; undefined if there is no such volume. */
  readonly fileKey?: (ref: FileKeyRef) => FileKey | undefined;
  /** The mounts for a container's volumeMounts, in their order. `env` is for subPathExpr. */
  readonly mountsFor?: (pod: Pod, container: Container, env: ReadonlyMap<string, string>) => MountInit[];
  readonly devices?: readonly DeviceInit[];
  readonly cdiDevices?: readonly string[];
  /** From device plugins. */
  readonly env?: ReadonlyMap<string, string>;
  readonly mounts?: readonly MountInit[];
  readonly annotations?: Readonly<Record<string, string>>;
  /** The container whose process namespace an ephemeral container shares. */
  readonly targetContainerId?: string;
}

export interface ImageUser {
  readonly uid?: bigint;
  readonly username?: string;
}
