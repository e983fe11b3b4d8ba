import { join } from "node:path";
import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import { CheckpointFile } from "../../../lib/host/checkpoint-file.ts";
import { type CpuSet, formatCpuSet, noCpus } from "../../../lib/model/cpu-set.ts";
import {
  containersOf,
  exclusiveCpus,
  isInitContainer,
  type PodLevelManagers,
  podExclusiveCpus,
} from "../../../lib/model/exclusive-cpus.ts";
import type { Container, Pod, PodUid } from "../../../lib/model/pod.ts";
import { hasPodLevelResources } from "../../../lib/model/resources.ts";
import type { HintProvider, TopologyHint, TopologyHints } from "../../../lib/model/topology.ts";
import { decodeCheckpoint, encodeCheckpoint } from "./checkpoint.ts";
import {
  assignedTo,
  type CpuAssignments,
  exclusiveOf,
  noAssignments,
  withAssigned,
  withoutPod,
  withPodAssigned,
} from "./cpu-assignments.ts";
import { cpuHints } from "./cpu-hints.ts";
import { type CpuMetrics, createCpuMetrics } from "./cpu-metrics.ts";
import { checkSharedPool, partitionPod } from "./pod-partition.ts";
import {
  allocatableCpus,
  availableCpus,
  checkAssignments,
  checkSmtAlignment,
  chooseCpus,
  initialAssignments,
  type StaticPolicy,
  take,
} from "./static-policy.ts";

export interface CpuManagerOptions {
  readonly rootDir: string;
  /** Undefined: the none policy, under which all containers share all CPUs. */
  readonly policy: StaticPolicy | undefined;
  /** The PodLevelResources gate. */
  readonly podLevelResources: boolean;
  /** How pods with pod-level resources get exclusive CPUs; "off" unless set. */
  readonly podLevelManagers?: PodLevelManagers | undefined;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** Assigns CPUs to containers that request whole ones in Guaranteed pods. All others share the rest. */
export class CpuManager implements HintProvider {
  readonly name = "cpu";
  readonly #o: CpuManagerOptions;
  readonly #file: CheckpointFile;
  readonly #metrics: CpuMetrics;
  #assignments = noAssignments;

  constructor(options: CpuManagerOptions) {
    const { rootDir, policy, metrics, logger } = options;
    this.#o = options;
    const path = join(rootDir, "cpu_manager_state");
    this.#file = new CheckpointFile({
      path,
      content: () => encodeCheckpoint(this.#policyName, this.#assignments),
      onError: (error) => logger.error("Failed to save checkpoint", { path, err: messageOf(error) }),
    });
    this.#metrics = createCpuMetrics(
      metrics,
      policy,
      () => this.#assignments,
      this.#podLevelManagers !== "off",
    );
  }

  /** Reads the assignments of the previous agent. Throws if they are corrupt, or do not fit the machine or the policy. */
  async start(): Promise<void> {
    const { policy, logger } = this.#o;
    const restored = await this.#restore();
    if (policy && (restored.shared.size > 0 || restored.pods.size > 0)) {
      try {
        checkAssignments(policy, restored);
      } catch (error) {
        throw this.#unusable(messageOf(error), error);
      }
      this.#set(restored);
    } else this.#set(policy ? { ...restored, ...initialAssignments(policy) } : restored);
    await this.#file.flushed();
    if (policy)
      logger.info("Started CPU manager", {
        policy: "static",
        reserved: formatCpuSet(policy.reserved),
        shared: formatCpuSet(this.#assignments.shared),
      });
  }

  async flushed(): Promise<void> {
    await this.#file.flushed();
  }

  async #restore(): Promise<CpuAssignments> {
    try {
      const text = await this.#file.read();
      const podLevel = this.#podLevelManagers !== "off";
      if (text === undefined) return { ...noAssignments, ...(podLevel && { podSets: new Map() }) };
      return decodeCheckpoint(this.#policyName, text, podLevel);
    } catch (error) {
      throw this.#unusable(`could not restore state from checkpoint: ${messageOf(error)}`, error);
    }
  }

  #unusable(problem: string, cause: unknown): KubeletError {
    const advice = `please drain this node and delete the CPU manager checkpoint file ${JSON.stringify(this.#file.path)} before restarting Kubelet`;
    return new KubeletError("CpuManager", `start cpu manager error: ${problem}, ${advice}`, { cause });
  }

  get #policyName() {
    return this.#o.policy ? "static" : "none";
  }

  #set(assignments: CpuAssignments): void {
    this.#assignments = assignments;
    void this.#file.save();
  }

  get #podLevelManagers(): PodLevelManagers {
    return this.#o.podLevelManagers ?? "off";
  }

  appliesTo(pod: Pod): boolean {
    if (this.#hasPodSet(pod)) return this.#podRequested(pod) > 0;
    return containersOf(pod).some((container) => this.#requested(pod, container) > 0);
  }

  /** True if the pod gets CPUs for its containers together. */
  #hasPodSet(pod: Pod): boolean {
    return this.#podLevelManagers === "pod" && hasPodLevelResources(pod);
  }

  hints(pod: Pod, container: Container): TopologyHints {
    const count = this.#requested(pod, container);
    if (count === 0) return new Map();
    const allocated = assignedTo(this.#assignments, pod.metadata.uid, container.name);
    if (allocated)
      return this.#hintsOf(allocated.size === count ? { count, available: allocated } : undefined);
    return this.#hintsOf({ count, available: this.#available(), reusable: this.#reusable(pod, container) });
  }

  podHints(pod: Pod): TopologyHints {
    const count = this.#podRequested(pod);
    if (count === 0) return new Map();
    const { uid } = pod.metadata;
    if (this.#hasPodSet(pod)) return this.#hintsOf(this.#podSetRequest(pod, count));
    let assigned = noCpus;
    for (const container of containersOf(pod)) {
      const cpus = assignedTo(this.#assignments, uid, container.name);
      if (cpus && cpus.size !== this.#requested(pod, container)) return this.#hintsOf(undefined);
      assigned = assigned.union(cpus ?? noCpus);
    }
    if (assigned.size === count) return this.#hintsOf({ count, available: assigned });
    return this.#hintsOf({ count, available: this.#available(), reusable: assigned });
  }

  /** Undefined if the pod can never get its CPUs, or had another number of them before. */
  #podSetRequest(pod: Pod, count: number): { count: number; available: CpuSet } | undefined {
    const known = this.#assignments.podSets?.get(pod.metadata.uid);
    if (known) return known.size === count ? { count, available: known } : undefined;
    try {
      this.#checkSharedPool(pod, count);
    } catch {
      return undefined;
    }
    return { count, available: this.#available() };
  }

  /** Undefined for a request that does not match what was allocated before. */
  #hintsOf(
    request: { readonly count: number; readonly available: CpuSet; readonly reusable?: CpuSet } | undefined,
  ): TopologyHints {
    const { policy } = this.#o;
    if (!policy) return new Map();
    const { alignBySocket } = policy.options;
    const hints = request ? cpuHints(policy.topology, { reusable: noCpus, ...request, alignBySocket }) : [];
    return new Map([["cpu", hints]]);
  }

  async allocate(pod: Pod, container: Container, affinity: TopologyHint): Promise<void> {
    const { policy } = this.#o;
    const count = this.#requested(pod, container);
    if (!policy || count === 0) return;
    const { uid } = pod.metadata;
    this.#metrics.requested();
    if (!assignedTo(this.#assignments, uid, container.name)) {
      const cpus = this.#choose(policy, { pod, container, count, affinity });
      this.#set(withAssigned(this.#assignments, uid, container.name, cpus));
      this.#metrics.allocated(cpus);
    }
    // Otherwise a restarted agent could assign the CPUs of a running container again.
    await this.#file.flushed();
  }

  async allocatePod(pod: Pod, affinity: TopologyHint): Promise<void> {
    const { policy } = this.#o;
    const count = this.#podRequested(pod);
    if (!policy || count === 0) return;
    const { uid } = pod.metadata;
    if (!this.#assignments.podSets?.has(uid)) {
      const { cpus, parts } = this.#choosePod(policy, pod, count, affinity);
      this.#set(withPodAssigned(this.#assignments, uid, cpus, parts));
      const isExclusive = (container: Container) => this.#requested(pod, container) > 0;
      this.#metrics.podAllocated(
        cpus,
        containersOf(pod).map((container) => (isExclusive(container) ? "pod_exclusive" : "pod_shared")),
      );
    }
    await this.#file.flushed();
  }

  #choosePod(policy: StaticPolicy, pod: Pod, count: number, affinity: TopologyHint) {
    const requested = (container: Container) => this.#requested(pod, container);
    try {
      this.#checkSharedPool(pod, count);
      checkSmtAlignment(policy, this.#assignments, { count, reusable: noCpus });
      const cpus = chooseCpus(policy, { count, available: this.#available(), affinity: affinity.numaNodes });
      for (const container of containersOf(pod)) if (requested(container) > 0) this.#metrics.requested();
      const parts = partitionPod(pod, cpus, requested, (available, n) => take(policy, available, n));
      return { cpus, parts };
    } catch (error) {
      this.#metrics.podFailed();
      throw error;
    }
  }

  #checkSharedPool(pod: Pod, count: number): void {
    checkSharedPool(pod, count, (container) => this.#requested(pod, container));
  }

  #choose(
    policy: StaticPolicy,
    request: { pod: Pod; container: Container; count: number; affinity: TopologyHint },
  ): CpuSet {
    const { pod, container, count, affinity } = request;
    const reusable = this.#reusable(pod, container);
    try {
      checkSmtAlignment(policy, this.#assignments, { count, reusable });
      const available = this.#available().union(reusable);
      return chooseCpus(policy, { count, available, affinity: affinity.numaNodes });
    } catch (error) {
      this.#metrics.failed();
      throw error;
    }
  }

  release(uid: PodUid): void {
    if (this.#assignments.pods.has(uid)) this.#set(withoutPod(this.#assignments, uid));
  }

  holders(): PodUid[] {
    return [...this.#assignments.pods.keys()];
  }

  keepOnly(isKnown: (uid: PodUid) => boolean): void {
    this.#file.retry();
    for (const uid of this.#assignments.pods.keys()) if (!isKnown(uid)) this.release(uid);
  }

  explain(pod: Pod, container: Container): string | undefined {
    const { policy } = this.#o;
    const count = this.#requested(pod, container);
    if (!policy || count === 0) return undefined;
    const list = (cpus: CpuSet) => formatCpuSet(cpus) || "none";
    const used = exclusiveOf(this.#assignments);
    return [
      `container ${container.name} requests ${count} exclusive CPUs`,
      `free: ${list(this.#available())}`,
      `exclusive to other containers: ${list(used)}`,
      `reserved: ${list(policy.reserved)}`,
    ].join("; ");
  }

  /** The CPUs that the container may run on; undefined for all. */
  cpusOf(uid: PodUid, container: string): CpuSet | undefined {
    const cpus = assignedTo(this.#assignments, uid, container) ?? this.#assignments.shared;
    return cpus.size > 0 ? cpus : undefined;
  }

  /** The CPUs that only this container has. */
  exclusiveCpusOf(uid: PodUid, container: string): CpuSet {
    return assignedTo(this.#assignments, uid, container) ?? noCpus;
  }

  /** The CPUs that containers can have for themselves, in use or not; none under the none policy. */
  get allocatable(): CpuSet {
    return this.#o.policy ? allocatableCpus(this.#o.policy) : noCpus;
  }

  #requested(pod: Pod, container: Container): number {
    return this.#o.policy ? exclusiveCpus(pod, container, this.#exclusiveOptions) : 0;
  }

  #podRequested(pod: Pod): number {
    return this.#o.policy ? podExclusiveCpus(pod, this.#exclusiveOptions) : 0;
  }

  get #exclusiveOptions() {
    return { podLevel: this.#o.podLevelResources, podLevelManagers: this.#podLevelManagers };
  }

  #available(): CpuSet {
    return this.#o.policy ? availableCpus(this.#o.policy, this.#assignments) : noCpus;
  }

  /** The CPUs of earlier init containers that no later container has. */
  #reusable(pod: Pod, container: Container): CpuSet {
    let reusable = noCpus;
    for (const other of containersOf(pod)) {
      if (other.name === container.name) break;
      const cpus = assignedTo(this.#assignments, pod.metadata.uid, other.name) ?? noCpus;
      reusable = isInitContainer(pod, other) ? reusable.union(cpus) : reusable.difference(cpus);
    }
    return reusable;
  }
}
