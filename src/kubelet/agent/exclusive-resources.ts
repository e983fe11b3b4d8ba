import type { Component } from "../../lib/base/component.ts";
import { formatCpuSet, sortedCpus } from "../../lib/model/cpu-set.ts";
import type { Container, Pod } from "../../lib/model/pod.ts";
import type { HintProvider } from "../../lib/model/topology.ts";
import type { InitialSync } from "../pipeline/sync-loop/initial-sync.ts";
import type { MemoryBlock } from "../resources/memory/machine-memory.ts";
import { MemoryManager } from "../resources/memory/memory-manager.ts";
import { TopologyManager } from "../resources/topology/topology-manager.ts";
import type { AllocatedMemory, PodResourcesSources } from "../server/pod-resources/sources.ts";
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

/** Resources that containers do not share: the hint provider of each kind, and the topology manager, which admits the pods that need them. */
export function exclusiveResources(
  core: AgentCore,
  parts: {
    readonly initialSync: Pick<InitialSync, "isComplete">;
    readonly activePods: () => readonly Pod[];
  },
): ExclusiveResources {
  const { options, config, node, observed, metrics, clock, logger } = core;
  const { numaNodes } = node.topology;
  const { podLevelManagers } = node.settings;
  const devices = nodeDevices(core);
  const { manager: cpus, reconciler } = cpuManager(core, parts.activePods);
  const memory = new MemoryManager({
    rootDir: options.rootDir,
    numaNodes,
    reserved: node.reserved,
    metrics,
    logger,
    policy: config.memoryManagerPolicy,
    reservations: config.reservedMemory,
    podLevelManagers,
  });
  // Locked in this order: a pod that waits for the lock of a plugin holds no other.
  const hintProviders: readonly HintProvider[] = [devices.manager.allocator, cpus, memory];
  const records: readonly AllocationRecord[] = [devices.manager, cpus, memory];
  return {
    topology: new TopologyManager({
      initialSync: parts.initialSync,
      nodePods: core.nodePods,
      hintProviders,
      metrics,
      clock,
      logger,
      policy: config.topologyManagerPolicy,
      scope: config.topologyManagerScope,
      podLevelManagers,
      policyOptions: config.topologyManagerPolicyOptions ?? {},
      numaNodes,
      runs: (uid) => runningContainers(observed.get(uid)).length > 0,
    }),
    records,
    components: reconciler ? [reconciler] : [],
    cpusets: ({ metadata: { uid } }, { name }) => {
      const set = cpus.cpusOf(uid, name);
      const mems = memory.nodesOf(uid, name);
      return { ...(set && { cpus: formatCpuSet(set) }), ...(mems.length > 0 && { mems: mems.join(",") }) };
    },
    sources: {
      devices: devices.manager,
      cpus: {
        of: (uid, container) => sortedCpus(cpus.exclusiveCpusOf(uid, container)),
        all: () => sortedCpus(cpus.allocatable),
      },
      memory: {
        of: (uid, container) => memory.of(uid, container).map(podResourcesBlock),
        all: () => memory.allocatable().map(podResourcesBlock),
      },
    },
    devices,
  };
}

function podResourcesBlock({ nodes, resource, bytes }: MemoryBlock): AllocatedMemory {
  return { memoryType: resource, size: bytes, topology: { nodes: nodes.map((id) => ({ ID: BigInt(id) })) } };
}
