import { type Clock, msFromNow, msSince } from "../../../lib/base/clock.ts";
import { KubeletError, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import type { PodLevelManagers } from "../../../lib/model/exclusive-cpus.ts";
import { type Container, type Pod, type PodUid, podRef } from "../../../lib/model/pod.ts";
import type { Admission, SyncReport } from "../../../lib/model/pod-sync.ts";
import { ResourceShortage } from "../../../lib/model/resource-shortage.ts";
import { hasPodLevelResources } from "../../../lib/model/resources.ts";
import type { HintProvider, NumaNode, TopologyHint, TopologyHints } from "../../../lib/model/topology.ts";
import type { InitialSync } from "../../pipeline/sync-loop/initial-sync.ts";
import type { NodePods } from "../../state/node-pods.ts";
import { HintProviderLocks, type Unlock } from "./hint-provider-locks.ts";
import { type AligningPolicy, type MergeOptions, mergeHints } from "./merge-hints.ts";
import { policyOptions } from "./policy-options.ts";
import { hintsText, rejection, TopologyAffinityError } from "./rejection.ts";
import { type TopologyMetrics, topologyMetrics } from "./topology-metrics.ts";

export type Scope = "container" | "pod";

export interface TopologyManagerOptions {
  readonly policy: "none" | AligningPolicy;
  readonly scope: Scope;
  /** How pods with pod-level resources are aligned: "pod" as a whole, with a policy and the pod scope. "off" unless set. */
  readonly podLevelManagers?: PodLevelManagers | undefined;
  readonly policyOptions: Readonly<Record<string, string>>;
  readonly numaNodes: readonly NumaNode[];
  /** In the order in which they are locked and allocate. */
  readonly hintProviders: readonly HintProvider[];
  /** All pods are known: resources of others can be released. */
  readonly initialSync: Pick<InitialSync, "isComplete">;
  readonly nodePods: Pick<NodePods, "isKnown" | "willReleaseResources" | "nameOf">;
  /** Containers of the pod run: they keep their resources until they have terminated. */
  readonly runs: (uid: PodUid) => boolean;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A pod that waits for others is decided again when one has terminated, and after this time: one may be gone without an event. */
const recheckMs = 10_000;

/** The hint of the policy "none": each hint provider chooses on its own. */
const anyNode: TopologyHint = { numaNodes: undefined, preferred: false };

/** Admits pods that need exclusive resources: collects hints of all hint providers, merges them, and has the resources allocated. */
export class TopologyManager {
  readonly #o: TopologyManagerOptions;
  readonly #merge: MergeOptions | undefined;
  readonly #locks = new HintProviderLocks();
  /** Pods whose locks were released before their plugins have responded: they may still be rejected. */
  readonly #undecided = new Set<PodUid>();
  readonly #metrics: TopologyMetrics;

  /** Throws if the policy does not work on this machine. */
  constructor(options: TopologyManagerOptions) {
    this.#o = options;
    this.#merge = mergeOptions(options);
    this.#metrics = topologyMetrics(options.metrics);
    if (this.#merge) this.#metrics.exposeAligned();
  }

  /** Undefined, and nothing to wait for, if the pod needs no exclusive resources. */
  admit(pod: Pod, report: SyncReport, signal: AbortSignal): Promise<Admission> | undefined {
    this.#metrics.requested();
    const hintProviders = this.#o.hintProviders.filter((provider) => provider.appliesTo(pod));
    if (hintProviders.length > 0) return this.#admit(pod, hintProviders, report, signal);
    this.#metrics.took(0);
    this.#countAligned(pod);
    return undefined;
  }

  /** The containers of the pod have terminated. */
  release(uid: PodUid): void {
    for (const provider of this.#o.hintProviders) provider.release(uid);
  }

  containerStarted(pod: Pod, container: Container): void {
    for (const provider of this.#o.hintProviders)
      if (provider.appliesTo(pod)) provider.containerStarted?.(pod, container);
  }

  keepOnly(isKnown: (uid: PodUid) => boolean): void {
    for (const provider of this.#o.hintProviders) provider.keepOnly(isKnown);
  }

  async #admit(
    pod: Pod,
    hintProviders: readonly HintProvider[],
    report: SyncReport,
    signal: AbortSignal,
  ): Promise<Admission> {
    const { clock } = this.#o;
    const startedAt = clock.monotonic();
    const onWait = (provider: HintProvider) =>
      report.blockedOn(
        provider.waitsFor?.(pod) ??
          `waiting until other pods have been allocated their resources: ${provider.name}`,
        { kind: "admission" },
      );
    try {
      return await this.#locks.run(
        pod,
        hintProviders,
        (unlock) => this.#decide(pod, hintProviders, unlock, signal),
        {
          signal,
          onWait,
        },
      );
    } finally {
      this.#metrics.took(msSince(clock, startedAt));
    }
  }

  async #decide(
    pod: Pod,
    hintProviders: readonly HintProvider[],
    unlock: Unlock,
    signal: AbortSignal,
  ): Promise<Admission> {
    const { initialSync, nodePods, runs, logger } = this.#o;
    const { uid } = pod.metadata;
    const failed: { container?: Container } = {};
    // Containers of a pod that is no longer in any source may still be running.
    if (initialSync.isComplete()) this.keepOnly((other) => nodePods.isKnown(other) || runs(other));
    // A pod that terminates during the decision counts: its resources are free for the next pod.
    const releasing = this.#releasing(uid, hintProviders);
    const unlockEarly: Unlock = (some) => {
      if (some.length < hintProviders.length) this.#undecided.add(uid);
      unlock(some);
    };
    try {
      await this.#allocate(pod, hintProviders, unlockEarly, signal, failed);
      signal.throwIfAborted();
      return { kind: "admitted" };
    } catch (error) {
      const { container } = failed;
      const details = container && !signal.aborted ? explanations(pod, container, hintProviders) : [];
      if (!runs(uid)) for (const provider of hintProviders) provider.release(uid);
      if (signal.aborted) throw error;
      const waiting =
        error instanceof ResourceShortage
          ? this.#waitFor(releasing.union(this.#releasing(uid, hintProviders)))
          : undefined;
      if (waiting) return waiting;
      if (this.#merge) this.#metrics.failed();
      if (!(error instanceof KubeletError))
        logger.error("Failed to allocate resources", {
          pod: podRef(pod),
          podUID: uid,
          container: container?.name,
          err: messageOf(error),
        });
      return { kind: "rejected", failure: rejection(error, details) };
    } finally {
      this.#undecided.delete(uid);
    }
  }

  /** The decision about a pod that lacks resources, if pods that have some of them may release them. */
  #waitFor(releasing: ReadonlySet<PodUid>): Admission | undefined {
    const { clock, nodePods } = this.#o;
    if (releasing.size === 0) return undefined;
    const names = [...releasing].map((uid) => nodePods.nameOf(uid)).sort((a, b) => (a < b ? -1 : 1));
    const what = releasing.isDisjointFrom(this.#undecided) ? "terminated" : "terminated or admitted";
    return {
      kind: "waiting",
      text: `waiting for resources of pods that are being ${what}: ${names.join(", ")}`,
      until: msFromNow(clock, recheckMs),
    };
  }

  /** The other pods that have some of the resources, and are being terminated or may be rejected. */
  #releasing(uid: PodUid, hintProviders: readonly HintProvider[]): Set<PodUid> {
    const others = hintProviders.flatMap((provider) => provider.holders()).filter((other) => other !== uid);
    return new Set(
      others.filter((other) => this.#o.nodePods.willReleaseResources(other) || this.#undecided.has(other)),
    );
  }

  /**
   * Hint providers that call other processes come last: the locks of the others are released before, so that a call that hangs blocks no pod
   * that does not need it. With hints for each container this is possible for the last container only, because they depend on what the
   * previous ones got.
   */
  async #allocate(
    pod: Pod,
    hintProviders: readonly HintProvider[],
    unlock: Unlock,
    signal: AbortSignal,
    failed: { container?: Container },
  ): Promise<void> {
    const { scope } = this.#o;
    const containers = containersOf(pod);
    const quick = hintProviders.filter((provider) => !provider.lock);
    const slow = hintProviders.filter((provider) => provider.lock);
    const allocate = async (some: typeof hintProviders, container: Container, affinity: TopologyHint) => {
      failed.container = container;
      for (const provider of some) {
        signal.throwIfAborted();
        await provider.allocate(pod, container, affinity, signal);
      }
    };
    if (scope === "pod" || !this.#merge) {
      const affinity = this.#affinity(pod, hintProviders, (a) => a.podHints(pod));
      const asOne = this.#isAlignedAsOne(pod) ? quick.filter((provider) => provider.allocatePod) : [];
      [failed.container] = containers;
      for (const provider of asOne) await provider.allocatePod?.(pod, affinity);
      const others = quick.filter((provider) => !asOne.includes(provider));
      for (const container of containers) await allocate(others, container, affinity);
      unlock(quick);
      for (const container of containers) await allocate(slow, container, affinity);
      if (this.#isGuaranteed) this.#metrics.aligned(scope);
      return;
    }
    for (const container of containers) {
      failed.container = container;
      const affinity = this.#affinity(pod, hintProviders, (a) => a.hints(pod, container), container);
      await allocate(quick, container, affinity);
      if (container === containers.at(-1)) unlock(quick);
      await allocate(slow, container, affinity);
      if (this.#isGuaranteed) this.#metrics.aligned(scope);
    }
  }

  #isAlignedAsOne(pod: Pod): boolean {
    return this.#o.podLevelManagers === "pod" && hasPodLevelResources(pod);
  }

  #affinity(
    pod: Pod,
    hintProviders: readonly HintProvider[],
    hintsOf: (provider: HintProvider) => TopologyHints,
    container?: Container,
  ): TopologyHint {
    if (!this.#merge) return anyNode;
    const hints = hintProviders.map(hintsOf);
    const { hint, admitted } = mergeHints(hints, this.#merge);
    if (admitted) return hint;
    const { scope, policy } = this.#o;
    if (this.#isGuaranteed) this.#metrics.notAligned(scope);
    const what = container ? `container ${container.name}` : "the containers together";
    const needs =
      policy === "single-numa-node"
        ? "all resources on one NUMA node"
        : "all resources on the same NUMA nodes";
    const { podLevelManagers = "off" } = this.#o;
    throw new TopologyAffinityError(
      `policy ${policy} needs ${needs}, ${what}: ${hintsText(hints)}`,
      podLevelManagers !== "off" && hasPodLevelResources(pod) ? scope : undefined,
    );
  }

  /** The policy either aligns all resources within one NUMA node, or rejects the pod. */
  get #isGuaranteed(): boolean {
    return this.#merge?.policy === "single-numa-node";
  }

  /** A pod that needs nothing is aligned. */
  #countAligned(pod: Pod): void {
    if (!this.#isGuaranteed) return;
    const { scope } = this.#o;
    const count = scope === "pod" ? 1 : containersOf(pod).length;
    for (let i = 0; i < count; i++) this.#metrics.aligned(scope);
  }
}

function mergeOptions(o: TopologyManagerOptions): MergeOptions | undefined {
  if (o.policy === "none") return undefined;
  const { preferClosest, maxNumaNodes } = policyOptions(o.policyOptions);
  if (preferClosest && o.numaNodes.some(({ distances }) => distances.length === 0))
    throw new KubeletError(
      "InvalidTopologyManagerPolicy",
      "cannot discover NUMA topology: error getting NUMA distances from cadvisor",
    );
  if (o.numaNodes.length > maxNumaNodes)
    throw new KubeletError(
      "InvalidTopologyManagerPolicy",
      `unsupported on machines with more than ${maxNumaNodes} NUMA Nodes`,
    );
  return { policy: o.policy, numaNodes: o.numaNodes, preferClosest };
}

function containersOf({ spec }: Pod): Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

function explanations(pod: Pod, container: Container, hintProviders: readonly HintProvider[]) {
  return hintProviders.map((provider) => {
    try {
      return provider.explain?.(pod, container);
    } catch (error) {
      return messageOf(error);
    }
  });
}
