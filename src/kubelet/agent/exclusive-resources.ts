import type { Component } from "../../lib/base/component.ts";
import { formatCpuSet, sortedCpus } from "../../lib/model/cpu-set.ts";
import type { Container, Pod, PodUid } from "../../lib/model/pod.ts";
import type { ResourceAllocator } from "../../lib/model/topology.ts";
import { TopologyManager } from "../resources/topology/topology-manager.ts";
import type { PodResourcesSources } from "../server/pod-resources/sources.ts";
import { runningContainers } from "../state/observed-pods.ts";
import type { AgentCore } from "./agent-core.ts";
import { cpuManager } from "./cpu-manager.ts";
import { type NodeDevices, nodeDevices } from "./devices.ts";

/** A checkpoint of allocations: read before the first pod is admitted. */
interface AllocationRecord {
  start(): Promise<void>;
  flushed(): Promise<void>;
}

export interface ExclusiveResources {
  readonly topology: TopologyManager;
  readonly records: readonly AllocationRecord[];
  readonly components: readonly Component[];
  /** The CPUs and the NUMA nodes of a container, as lists for the kernel. */
  cpusets(pod: Pod, container: Container): { readonly cpus?: string; readonly mems?: string };
  /** The allocations, as the PodResources API reports them. */
  readonly sources: Omit<PodResourcesSources, "pods">;
  readonly devices: NodeDevices;
}

/** Resources that containers do not share: the allocator of each kind, and the topology manager, which admits the pods that need them. */
export function exclusiveResources(
  core: AgentCore,
  parts: {
    readonly isSynced: () => boolean;
    /** False for a pod that no source has any more, and that is not being terminated by this agent. */
    readonly isKnown: (uid: PodUid) => boolean;
    readonly activePods: () => readonly Pod[];
  },
): ExclusiveResources {
  const { config, node, observed, metrics, clock, logger } = core;
  const devices = nodeDevices(core);
  const { manager: cpus, reconciler } = cpuManager(core, parts.activePods);
  // Locked and allocated in this order. Devices come first: a pod that waits for a plugin holds no other lock.
  const allocators: readonly ResourceAllocator[] = [devices.manager.allocator, cpus];
  const records: readonly AllocationRecord[] = [devices.manager, cpus];
  return {
    topology: new TopologyManager({
      ...{ ...parts, allocators, metrics, clock, logger },
      policy: config.topologyManagerPolicy,
      scope: config.topologyManagerScope,
      policyOptions: config.topologyManagerPolicyOptions ?? {},
      numaNodes: node.topology.numaNodes,
      runs: (uid) => runningContainers(observed.get(uid)).length > 0,
    }),
    records,
    components: reconciler ? [reconciler] : [],
    cpusets: ({ metadata }, { name }) => {
      const set = cpus.cpusOf(metadata.uid, name);
      return set ? { cpus: formatCpuSet(set) } : {};
    },
    sources: {
      devices: devices.manager,
      cpus: {
        of: (uid, container) => sortedCpus(cpus.exclusiveCpusOf(uid, container)),
        all: () => sortedCpus(cpus.allocatable),
      },
    },
    devices,
  };
}
