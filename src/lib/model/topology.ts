import type { NumaMask } from "./numa-mask.ts";
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
  /** To each node, in the order of `MachineTopology.numaNodes`. Empty if the machine does not report them. */
  readonly distances: readonly number[];
}

export interface MachineTopology {
  /** The CPUs that are online, by ID. */
  readonly cpus: readonly LogicalCpu[];
  /** By ID. */
  readonly numaNodes: readonly NumaNode[];
}

/** A set of NUMA nodes from which a request can be served. */
export interface TopologyHint {
  /** Undefined for any node. */
  readonly numaNodes: NumaMask | undefined;
  /** No smaller set could serve it. */
  readonly preferred: boolean;
}

/** The hints for each resource. Undefined instead of a list means no preference. An empty list means that the request cannot be served. */
export type TopologyHints = ReadonlyMap<string, readonly TopologyHint[] | undefined>;

/** Allocates one kind of resource to containers, exclusively and close to each other: CPUs, memory, devices. */
export interface HintProvider {
  /** "cpu", "memory" or "devices": for logs and explanations. */
  readonly name: string;
  /** True if the pod requests such resources; nothing is allocated to other pods. */
  appliesTo(pod: Pod): boolean;
  /**
   * Serializes decisions about the same resources: held from the hints of the first container until the last one has its resources.
   * Only hint providers that call other processes have it; they allocate after the others, which are free for other pods in the meantime.
   * A hint provider without this function handles one pod at a time. Resolves to a function that releases the lock.
   */
  lock?(pod: Pod, signal: AbortSignal): Promise<Disposable>;
  /** One line for users about a pod that waits for the lock, or for its allocation. */
  waitsFor?(pod: Pod): string | undefined;
  /** An empty map: no preference. */
  hints(pod: Pod, container: Container): TopologyHints;
  /** For the containers of the pod together. */
  podHints(pod: Pod): TopologyHints;
  /**
   * Idempotent: a container keeps its allocation across restarts of itself and of the agent. Called in the order of the init containers, then
   * of the containers. Throws a KubeletError, whose code is the reason for rejecting the pod and whose message becomes the message of the
   * status; with
   * the code UnexpectedAdmissionError, or for any other error, the message becomes "Allocate failed due to <message>, which is unexpected".
   */
  allocate(pod: Pod, container: Container, affinity: TopologyHint, signal: AbortSignal): Promise<void>;
  /**
   * The same for a pod with pod-level resources, under the pod scope: its containers get parts of what the pod requests. Without
   * it, each container is allocated what it requests.
   */
  allocatePod?(pod: Pod, affinity: TopologyHint): Promise<void>;
  /** The container runs: init containers before it have completed, and those that are not sidecars no longer need resources. */
  containerStarted?(pod: Pod, container: Container): void;
  /** Releases everything that the pod has: after a failed admission, and when its containers are gone. */
  release(uid: PodUid): void;
  /** The pods that have some of the resources. */
  holders(): readonly PodUid[];
  /** Releases the resources of pods that are gone: those in a checkpoint that are no longer in any source. */
  keepOnly(isKnown: (uid: PodUid) => boolean): void;
  /** One line for users about a rejected container: what is free, on which NUMA nodes. */
  explain?(pod: Pod, container: Container): string | undefined;
}
