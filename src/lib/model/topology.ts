import type { Container, Pod, PodUid } from "./pod.ts";

/** One logical CPU of the machine. */
export interface LogicalCpu {
  readonly id: number;
  /** Unique on the machine, not only within its socket. */
  readonly core: number;
  readonly socket: number;
  readonly numaNode: number;
  /** The group of CPUs that share the last-level cache. */
  readonly uncoreCache: number;
}

export interface NumaNode {
  readonly id: number;
  readonly memoryBytes: bigint;
  readonly hugepages: readonly { readonly pageBytes: bigint; readonly pages: bigint }[];
  /** To each node, in the order of `MachineTopology.numaNodes`. */
  readonly distances: readonly number[];
}

export interface MachineTopology {
  /** Those online, by ID. */
  readonly cpus: readonly LogicalCpu[];
  /** By ID. */
  readonly numaNodes: readonly NumaNode[];
}

/** A set of NUMA nodes from which a request can be served. */
export interface TopologyHint {
  /** Bit n stands for NUMA node n; undefined for any node. */
  readonly numaNodes: bigint | undefined;
  /** No smaller set could serve it. */
  readonly preferred: boolean;
}

/** By resource. Undefined instead of a list: no preference; an empty list: the request cannot be served. */
export type TopologyHints = ReadonlyMap<string, readonly TopologyHint[] | undefined>;

/** Allocates one kind of resource to containers, exclusively and close to each other: CPUs, memory, devices. */
export interface ResourceAllocator {
  /** The pod requests such resources; nothing else is called for other pods. */
  concerns(pod: Pod): boolean;
  /** Serializes decisions about the same resources. Pods that do not compete for them do not wait. Resolves to the release. */
  lock?(pod: Pod, signal: AbortSignal): Promise<() => void>;
  hints(pod: Pod, container: Container): TopologyHints;
  /** For the containers of the pod together. */
  podHints(pod: Pod): TopologyHints;
  /**
   * Idempotent: a container keeps its allocation over restarts of itself and of the agent. Throws a KubeletError, whose code is the
   * reason of the rejected pod.
   */
  allocate(pod: Pod, container: Container, affinity: TopologyHint, signal: AbortSignal): Promise<void>;
  /** Everything that the pod has; after a failed admission, and when its containers are gone. */
  release(uid: PodUid): void;
}
