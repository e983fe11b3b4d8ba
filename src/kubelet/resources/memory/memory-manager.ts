import { join } from "node:path";
import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import { CheckpointFile } from "../../../lib/host/checkpoint-file.ts";
import type { PodLevelManagers } from "../../../lib/model/exclusive-cpus.ts";
import { maskOf, nodesOf } from "../../../lib/model/numa-mask.ts";
import type { Container, Pod, PodUid } from "../../../lib/model/pod.ts";
import { ResourceShortage } from "../../../lib/model/resource-shortage.ts";
import { hasPodLevelResources, isSidecar } from "../../../lib/model/resources.ts";
import type { HintProvider, NumaNode, TopologyHint, TopologyHints } from "../../../lib/model/topology.ts";
import { decodeCheckpoint, encodeCheckpoint, type MemoryState } from "./checkpoint.ts";
import { memoryText } from "./explain-memory.ts";
import {
  type MachineMemory,
  type MemoryBlock,
  type SystemReserved,
  sameUse,
  unusedMemory,
  withBlock,
  withoutBlock,
} from "./machine-memory.ts";
import {
  bestNodes,
  hintsFor,
  hintsOfBlocks,
  isFree,
  possibleNodes,
  splitsGroup,
  violatesGroups,
} from "./memory-hints.ts";
import { memoryMetrics } from "./memory-metrics.ts";
import {
  containerRequests,
  hasOwnMemory,
  isInitContainer,
  type MemoryRequests,
  podLevelRequests,
  podRequests,
} from "./memory-requests.ts";
import { checkSharedPool, partitionPod } from "./pod-partition.ts";
import { type MemoryReservations, systemReservedMemory } from "./reserved-memory.ts";
import { ReusableMemory, reuseBlocks } from "./reusable-memory.ts";

export interface MemoryManagerOptions {
  readonly policy: "None" | "Static";
  readonly rootDir: string;
  readonly numaNodes: readonly NumaNode[];
  /** The reserved part of the node's capacity, in nano units by resource. */
  readonly reserved: ReadonlyMap<string, bigint>;
  /** The same by NUMA node, from the configuration. */
  readonly reservations: MemoryReservations;
  /** How pods with pod-level resources get memory; "off" unless set. */
  readonly podLevelManagers?: PodLevelManagers | undefined;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/**
 * With the policy Static, containers of Guaranteed pods get memory and huge pages of NUMA nodes: their requests, in total never more than
 * a node has. With the policy None only the checkpoint exists, as in the reference kubelet.
 */
export class MemoryManager implements HintProvider {
  readonly name = "memory";
  readonly #o: MemoryManagerOptions;
  readonly #file: CheckpointFile;
  readonly #metrics: ReturnType<typeof memoryMetrics>;
  readonly #unused: MachineMemory;
  #machine: MachineMemory;
  readonly #assignments = new Map<PodUid, Map<string, readonly MemoryBlock[]>>();
  /** The memory of pods with pod-level resources. The memory of their containers is part of it and does not count in addition. */
  readonly #podAssignments = new Map<PodUid, readonly MemoryBlock[]>();
  /** The reusable memory of the pod that is being admitted. */
  #reusable: { readonly uid: PodUid; readonly memory: ReusableMemory } | undefined;

  /** Throws if the reserved memory does not match the machine or the other reservations. */
  constructor(options: MemoryManagerOptions) {
    const { policy, rootDir, numaNodes, reserved, reservations, logger } = options;
    this.#o = options;
    const path = join(rootDir, "memory_manager_state");
    this.#file = new CheckpointFile({
      path,
      content: () => encodeCheckpoint(this.#state()),
      // An allocation remains valid while the agent runs.
      onError: (error) =>
        logger.error("Failed to store state to checkpoint", { path, err: messageOf(error) }),
    });
    this.#metrics = memoryMetrics(options.metrics, this.#podLevelManagers !== "off");
    const isStatic = policy === "Static";
    const system: SystemReserved = isStatic
      ? systemReservedMemory(numaNodes, reserved, reservations)
      : new Map();
    this.#unused = isStatic ? unusedMemory(numaNodes, system) : new Map();
    this.#machine = this.#unused;
  }

  /** Restores the allocations of a previous agent; throws if they do not belong to this machine and configuration. */
  async start(): Promise<void> {
    const { policy } = this.#o;
    const state = await this.#load();
    if (state && policy === "Static") this.#restore(state);
    await this.#save();
  }

  /** The state of a previous agent. Throws if it cannot be trusted, or belongs to another policy. */
  async #load(): Promise<MemoryState | undefined> {
    const { policy } = this.#o;
    try {
      const text = await this.#file.read();
      if (text === undefined) return undefined;
      const state = decodeCheckpoint(text, this.#podLevelManagers !== "off");
      if (state.policy !== policy)
        throw new KubeletError(
          "PolicyChanged",
          `[memorymanager] configured policy "${policy}" differs from state checkpoint policy "${state.policy}"`,
        );
      return state;
    } catch (error) {
      throw this.#unusable(`could not restore state from checkpoint: ${messageOf(error)}`, error);
    }
  }

  /** An error with the advice of the reference kubelet. */
  #unusable(problem: string, cause?: unknown): KubeletError {
    return new KubeletError(
      "CorruptCheckpoint",
      `${problem}, please drain this node and delete the memory manager checkpoint file "${this.#file.path}" before restarting Kubelet`,
      { cause },
    );
  }

  async flushed(): Promise<void> {
    await this.#file.flushed();
  }

  appliesTo(pod: Pod): boolean {
    return this.#o.policy === "Static" && hasOwnMemory(pod, this.#podLevelManagers);
  }

  get #podLevelManagers(): PodLevelManagers {
    return this.#o.podLevelManagers ?? "off";
  }

  hints(pod: Pod, container: Container): TopologyHints {
    const { uid } = pod.metadata;
    const requests = containerRequests(pod, container);
    const blocks = this.#blocks(uid, container.name);
    if (blocks) return hintsOfBlocks(blocks, requests);
    if (this.#hasCompleted(pod, container)) return new Map();
    return hintsFor(requests, possibleNodes(this.#machine, requests, this.#reusableOf(uid)));
  }

  podHints(pod: Pod): TopologyHints {
    const { uid } = pod.metadata;
    if (this.#podLevelManagers === "pod" && hasPodLevelResources(pod)) return this.#podLevelHints(pod);
    const requests = podRequests(pod);
    const [first] = this.#assignments.get(uid)?.values() ?? [];
    if (first) return hintsOfBlocks(first, requests);
    return hintsFor(
      requests,
      possibleNodes(this.#machine, requests, () => 0n),
    );
  }

  #podLevelHints(pod: Pod): TopologyHints {
    const requests = podLevelRequests(pod);
    const known = this.#podAssignments.get(pod.metadata.uid);
    if (known) return hintsOfBlocks(known, requests);
    try {
      checkSharedPool(pod, requests);
    } catch {
      return new Map([...requests.keys()].map((resource) => [resource, []]));
    }
    return hintsFor(
      requests,
      possibleNodes(this.#machine, requests, () => 0n),
    );
  }

  async allocate(pod: Pod, container: Container, affinity: TopologyHint): Promise<void> {
    this.#metrics.requested();
    try {
      this.#allocate(pod, container, affinity);
    } catch (error) {
      this.#metrics.failed("node");
      throw error;
    }
    await this.#save();
  }

  async allocatePod(pod: Pod, affinity: TopologyHint): Promise<void> {
    this.#metrics.requested();
    try {
      this.#allocatePod(pod, affinity);
    } catch (error) {
      this.#metrics.failed("pod");
      throw error;
    }
    await this.#save();
  }

  #allocatePod(pod: Pod, affinity: TopologyHint): void {
    const { uid } = pod.metadata;
    if (this.#podAssignments.has(uid)) return;
    const requests = podLevelRequests(pod);
    checkSharedPool(pod, requests);
    const nodes = this.#nodesFor(uid, requests, affinity);
    const blocks = [...requests].map(([resource, bytes]): MemoryBlock => ({ nodes, resource, bytes }));
    for (const block of blocks) this.#machine = withBlock(this.#machine, block, block.bytes);
    this.#podAssignments.set(uid, blocks);
    this.#assignments.set(uid, partitionPod(pod, requests, nodes));
    const { initContainers = [], containers } = pod.spec;
    for (const container of [...initContainers, ...containers]) {
      const isExclusive = containerRequests(pod, container).size > 0;
      if (isExclusive || initContainers.includes(container)) this.#metrics.requested();
      this.#metrics.podAllocated(isExclusive ? "pod_exclusive" : "pod_shared");
    }
  }

  containerStarted({ metadata, spec }: Pod, { name }: Container): void {
    let hasChanged = false;
    for (const init of spec.initContainers ?? []) {
      if (init.name === name) break;
      if (!isSidecar(init)) hasChanged = this.#releaseContainer(metadata.uid, init.name) || hasChanged;
    }
    if (hasChanged) void this.#save();
  }

  release(uid: PodUid): void {
    if (this.#reusable?.uid === uid) this.#reusable = undefined;
    const names = [...(this.#assignments.get(uid)?.keys() ?? [])];
    for (const name of names) this.#releaseContainer(uid, name);
    const ofPod = this.#podAssignments.get(uid) ?? [];
    for (const block of ofPod) this.#machine = withoutBlock(this.#machine, block);
    this.#podAssignments.delete(uid);
    if (names.length > 0) void this.#save();
  }

  holders(): PodUid[] {
    return [...this.#assignments.keys()];
  }

  keepOnly(isKnown: (uid: PodUid) => boolean): void {
    this.#file.retry();
    for (const uid of [...this.#assignments.keys()]) if (!isKnown(uid)) this.release(uid);
  }

  explain(pod: Pod, container: Container): string {
    return memoryText(containerRequests(pod, container), this.#machine);
  }

  /** The memory of a container; none if it shares the node's memory. */
  of(uid: PodUid, container: string): readonly MemoryBlock[] {
    return this.#blocks(uid, container) ?? [];
  }

  /** The NUMA nodes of a container, lowest first; none if it may use all. */
  nodesOf(uid: PodUid, container: string): number[] {
    return [...new Set(this.of(uid, container).flatMap(({ nodes }) => nodes))].sort((a, b) => a - b);
  }

  /** A block for each NUMA node and kind of memory. Pods are allocated parts of it. */
  allocatable(): MemoryBlock[] {
    return [...this.#unused].flatMap(([id, { tables }]) =>
      [...tables]
        .filter(([, { allocatable }]) => allocatable > 0n)
        .map(([resource, { allocatable }]) => ({ nodes: [id], resource, bytes: allocatable })),
    );
  }

  #allocate(pod: Pod, container: Container, affinity: TopologyHint): void {
    const { uid } = pod.metadata;
    const known = this.#blocks(uid, container.name);
    if (known) return this.#reuse(pod, container, known);
    if (this.#hasCompleted(pod, container)) return;
    const requests = containerRequests(pod, container);
    // It shares the memory of its pod, which is not managed in the container scope.
    if (requests.size === 0) return;
    const nodes = this.#nodesFor(uid, requests, affinity);
    const blocks = [...requests].map(([resource, bytes]): MemoryBlock => ({ nodes, resource, bytes }));
    const reusable = this.#reusableOf(uid);
    for (const block of blocks) {
      const missing = block.bytes - reusable(maskOf(nodes), block.resource);
      this.#machine = withBlock(this.#machine, block, missing > 0n ? missing : 0n);
    }
    this.#reuse(pod, container, blocks);
    this.#set(uid, container.name, blocks);
    this.#reduceInitContainers(pod, container, blocks);
    this.#metrics.allocated(blocks.length);
  }

  /** The nodes of the hint, and others in addition if these have too little free memory. */
  #nodesFor(uid: PodUid, requests: MemoryRequests, affinity: TopologyHint): number[] {
    const machine = this.#machine;
    const best = (included: bigint) => bestNodes(machine, requests, this.#reusableOf(uid), included);
    let { numaNodes } = affinity;
    let { preferred } = affinity;
    if (numaNodes === undefined) {
      const found = best(0n);
      if (!found)
        throw failure(
          "failed to get the default NUMA affinity, no NUMA nodes with enough memory is available",
        );
      if (preferred && !found.preferred) throw failure("failed to find the default preferred hint");
      ({ numaNodes, preferred } = found);
    }
    if (!isFree(machine, nodesOf(numaNodes), requests) || splitsGroup(machine, nodesOf(numaNodes))) {
      const found = best(numaNodes);
      if (!found) throw failure("failed to find NUMA nodes to extend the current topology hint");
      if (preferred && !found.preferred) throw failure("failed to find the extended preferred hint");
      ({ numaNodes } = found);
    }
    const nodes = nodesOf(numaNodes);
    if (violatesGroups(machine, nodes)) throw failure("preferred hint violates NUMA node allocation");
    return nodes;
  }

  #reuse(pod: Pod, { name }: Container, blocks: readonly MemoryBlock[]): void {
    const { uid } = pod.metadata;
    if (this.#reusable?.uid !== uid) this.#reusable = { uid, memory: new ReusableMemory() };
    if (isInitContainer(pod, name)) this.#reusable.memory.offer(blocks);
    else this.#reusable.memory.use(blocks);
  }

  #reusableOf(uid: PodUid) {
    const memory = this.#reusable?.uid === uid ? this.#reusable.memory : undefined;
    return (nodes: bigint, resource: string) => memory?.of(nodes, resource) ?? 0n;
  }

  /** Memory that a later container reuses belongs to that container: the blocks of a pod add up to its memory. */
  #reduceInitContainers(pod: Pod, { name }: Container, blocks: readonly MemoryBlock[]): void {
    const { uid } = pod.metadata;
    let needed = [...blocks];
    for (const init of pod.spec.initContainers ?? []) {
      if (init.name === name) return;
      const earlier = isSidecar(init) ? undefined : this.#blocks(uid, init.name);
      if (!earlier) continue;
      const reused = reuseBlocks(earlier, needed);
      needed = reused.needed;
      this.#set(uid, init.name, reused.left);
    }
  }

  /** An init container of a running pod. Its memory was released; later containers of the pod have their own. */
  #hasCompleted(pod: Pod, { name }: Container): boolean {
    const names = this.#assignments.get(pod.metadata.uid);
    if (!names || !isInitContainer(pod, name)) return false;
    const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map(
      (container) => container.name,
    );
    return all.slice(all.indexOf(name) + 1).some((later) => names.has(later));
  }

  #blocks(uid: PodUid, container: string): readonly MemoryBlock[] | undefined {
    return this.#assignments.get(uid)?.get(container);
  }

  #set(uid: PodUid, container: string, blocks: readonly MemoryBlock[]): void {
    const containers = this.#assignments.get(uid) ?? new Map<string, readonly MemoryBlock[]>();
    this.#assignments.set(uid, containers.set(container, blocks));
  }

  #releaseContainer(uid: PodUid, name: string): boolean {
    const containers = this.#assignments.get(uid);
    const blocks = containers?.get(name);
    if (!containers || !blocks) return false;
    if (!this.#podAssignments.has(uid))
      for (const block of blocks) this.#machine = withoutBlock(this.#machine, block);
    containers.delete(name);
    if (containers.size === 0) this.#assignments.delete(uid);
    return true;
  }

  #restore({ machine, assignments, podAssignments = new Map() }: MemoryState) {
    const problem = (text: string) => this.#unusable(`start memory manager error: [memorymanager] ${text}`);
    if (machine.size === 0) {
      if (assignments.size > 0)
        throw problem("machine state can not be empty when it has memory assignments");
      return;
    }
    let expected = this.#unused;
    for (const [uid, containers] of assignments) {
      const ofPod = podAssignments.get(uid);
      for (const [name, blocks] of ofPod ? [["", ofPod] as const] : containers)
        for (const block of blocks) {
          const where = `(pod: ${uid}, container: ${name}) the memory assignment uses`;
          for (const id of block.nodes) {
            const node = expected.get(id);
            if (!node) throw problem(`${where} the NUMA that does not exist`);
            if (!node.tables.has(block.resource))
              throw problem(`${where} memory resource that does not exist`);
          }
          expected = withBlock(expected, block, block.bytes);
        }
    }
    if (!sameUse(machine, expected))
      throw problem("the expected machine state is different from the real one");
    this.#machine = machine;
    for (const [uid, containers] of assignments) this.#assignments.set(uid, new Map(containers));
    for (const [uid, blocks] of podAssignments)
      if (assignments.has(uid)) this.#podAssignments.set(uid, blocks);
  }

  #state(): MemoryState {
    return {
      policy: this.#o.policy,
      machine: this.#machine,
      assignments: this.#assignments,
      ...(this.#podLevelManagers !== "off" && { podAssignments: this.#podAssignments }),
    };
  }

  async #save(): Promise<void> {
    await this.#file.save().catch(() => {});
  }
}

function failure(message: string): ResourceShortage {
  return new ResourceShortage("UnexpectedAdmissionError", `[memorymanager] ${message}`);
}
