import { type Clock, msSince, sleep } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { isAbort, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { MonotonicTime } from "../../../lib/base/time.ts";
import { WakeUp } from "../../../lib/base/wait.ts";
import { isCritical } from "../../../lib/model/critical-pod.ts";
import { type Pod, type PodUid, podRef } from "../../../lib/model/pod.ts";
import type { NodeEvents, PodEvents } from "../../../lib/model/pod-events.ts";
import type { PodFailure } from "../../../lib/model/pod-failure.ts";
import type { PodStats } from "../../../lib/model/stats-summary.ts";
import type { NodePressure } from "../../state/node-pressure.ts";
import type { EvictedPods } from "../evicted-pods/evicted-pods.ts";
import { choiceText, evictionText, signalText } from "./eviction-message.ts";
import type { EvictionMetrics } from "./eviction-metrics.ts";
import { exceededStorageLimit, limitsStorage } from "./local-storage.ts";
import { type UsageThreshold, usageThresholds } from "./memory-notification.ts";
import { noPressure, observePressure } from "./pressure.ts";
import { type RankedPod, rankPods } from "./ranking.ts";
import { type NodeReclaim, nodeReclaims } from "./reclaim.ts";
import { type EvictionReport, reportOf } from "./report.ts";
import {
  type NodeUsage,
  type Observations,
  observationsOf,
  type Resource,
  resourceOf,
  type Signal,
} from "./signals.ts";
import {
  byUrgency,
  type FsLayout,
  isHard,
  isOfDisk,
  type Threshold,
  thresholdsMet,
  withContainerFs,
} from "./thresholds.ts";

export type PodStatsByUid = ReadonlyMap<string, PodStats>;

export interface EvictionManagerOptions {
  readonly thresholds: readonly Threshold[];
  /** How long a condition is kept after it was last observed. */
  readonly transitionMs: number;
  /** The maximum grace period of pods that are evicted because of a soft threshold. */
  readonly maxPodGraceSeconds: number;
  /** Limits of local ephemeral storage are enforced. */
  readonly localStorage: boolean;
  /** KubeletSeparateDiskGC; without it nothing is evicted on a node whose image file system is split, as upstream. */
  readonly splitFileSystems?: boolean;
  /** The PodLevelResources gate. */
  readonly podLevel: boolean;
  readonly stats: EvictionStats;
  /** All desired pods that have not terminated, with their allocated resources. */
  readonly activePods: () => readonly Pod[];
  /** The progress of a pod's termination. */
  readonly terminationOf: (uid: PodUid) => "none" | "terminated" | "finished";
  readonly evicted: Pick<EvictedPods, "has" | "all" | "evict">;
  /** "evicted containers": the dead containers of evicted pods, with their logs. Containers of other pods are kept. */
  readonly reclaim: (what: NodeReclaim | "evicted containers", signal: AbortSignal) => Promise<unknown>;
  /** Notifications of the kernel before a measurement is due; undefined without kernelMemcgNotification. */
  readonly notifier?: {
    set(thresholds: readonly UsageThreshold[], notify: () => void): Promise<void>;
    close(): void;
  };
  readonly events: PodEvents;
  readonly nodeEvents: Pick<NodeEvents, "warning">;
  readonly metrics: EvictionMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The observed pressure, for the node status and for admission. */
  readonly pressure: NodePressure;
  /** The conditions have changed. */
  readonly onPressure: () => void;
}

/** `PressureStats` measures the node, `Stats` the pods; `agent/eviction.ts` adapts both. */
export interface EvictionStats {
  /** Measured now; what these signals need. */
  node(signals: ReadonlySet<Signal>): Promise<NodeUsage>;
  layout(): Promise<FsLayout>;
  pods(of: Resource): Promise<PodStatsByUid>;
  /** Measures only the disk usage, and only of these pods. */
  storage(pods: readonly Pod[]): Promise<PodStatsByUid>;
}

const everyMs = 10_000;
const notifierEveryMs = 10_000;
/** A pod that is evicted by a hard threshold, or has exceeded a limit, has to terminate soon. */
const immediately = 1;
const minKillSeconds = 10;
const cleanupMs = 30_000;
const pollMs = 1000;
/** The layout of the filesystems is unknown: only memory and process IDs are protected. */
const unknownLayout: FsLayout = { dedicatedImageFs: false, splitContainerFs: false };

/**
 * Keeps the node usable when memory, disk space, inodes or process IDs run low: reports conditions, reclaims what no pod uses, then evicts
 * pods, one at a time, with a measurement in between. All pods that exceed their own limits of local storage are evicted together.
 */
export class EvictionManager implements Component {
  readonly name = "eviction-manager";
  readonly #o: EvictionManagerOptions;
  #thresholds: readonly Threshold[];
  #layout: FsLayout | undefined;
  #state = noPressure;
  #observations: Observations = new Map();
  #lastEviction: EvictionReport["lastEviction"];
  #lastError = "";
  #layoutError = "";
  #notifierAt: MonotonicTime | undefined;
  #unobserved = new Set<Signal>();
  readonly #thresholdCrossed = new WakeUp();
  #loop: Promise<void> = Promise.resolve();

  constructor(options: EvictionManagerOptions) {
    this.#o = options;
    this.#thresholds = options.thresholds;
  }

  get done(): Promise<void> {
    return this.#loop;
  }

  async start(signal: AbortSignal): Promise<void> {
    const { thresholds, localStorage, notifier, logger } = this.#o;
    if (thresholds.length === 0 && !localStorage) return;
    logger.info("Eviction manager: starting control loop");
    this.#loop = this.#run(signal).finally(() => notifier?.close());
  }

  /** The last observation and decision. */
  report(): EvictionReport {
    return reportOf({
      thresholds: this.#thresholds,
      observations: this.#observations,
      conditions: this.#o.pressure.conditions,
      state: this.#state,
      cause: this.#o.pressure.cause,
      lastEviction: this.#lastEviction,
      transitionMs: this.#o.transitionMs,
      now: this.#o.clock.monotonic(),
    });
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { evicted, logger } = this.#o;
    // A previous agent may have been killed while it evicted a pod: no other is evicted in its place.
    await Promise.all(evicted.all().map((uid) => this.#untilCleanedUp({ uid }, immediately, signal)));
    while (!signal.aborted) {
      try {
        const evictedPods = await this.#synchronize(signal);
        this.#lastError = "";
        if (evictedPods.length === 0) await this.#pause(signal);
        else {
          await Promise.all(
            evictedPods.map((evictedPod) =>
              this.#untilCleanedUp(evictedPod, evictedPod.graceSeconds, signal),
            ),
          );
          // Before the next measurement: their layers and logs may be what fills the disk.
          await this.#o.reclaim("evicted containers", signal);
        }
      } catch (error) {
        if (signal.aborted || isAbort(error)) continue;
        const err = messageOf(error);
        // The same error again is logged at a higher verbosity.
        if (err === this.#lastError) logger.debug(4, "Eviction manager: failed to synchronize", { err });
        else logger.error("Eviction manager: failed to synchronize", { err });
        this.#lastError = err;
        await this.#pause(signal);
      }
    }
  }

  /** One measurement, and the evictions that follow from it. */
  async #synchronize(signal: AbortSignal): Promise<Evicted[]> {
    const layout = await this.#fsLayout();
    const { clock, transitionMs, activePods } = this.#o;
    if (layout?.splitContainerFs && this.#o.splitFileSystems === false)
      throw new Error("KubeletSeparateDiskGC is turned off but we still have a split filesystem");
    const at = clock.monotonic();
    const usage = await this.#measure();
    const thresholds = layout ? this.#thresholds : this.#thresholds.filter((t) => !isOfDisk(t));
    const observations = observationsOf(usage);
    this.#reportUnobserved(thresholds, observations);
    await this.#updateNotifier(usage);
    const { state, conditions, toReclaim } = observePressure(this.#state, {
      thresholds,
      observations,
      transitionMs,
      now: clock.monotonic(),
    });
    this.#state = state;
    this.#observations = observations;
    this.#setConditions(conditions);
    if (signal.aborted) return [];
    const pods = activePods();
    const exceeding = await this.#evictExceeding(pods, layout ?? unknownLayout);
    if (exceeding.length > 0 || toReclaim.length === 0 || signal.aborted) return exceeding;
    const chosen = await this.#reclaim(byUrgency(toReclaim), layout ?? unknownLayout, at, signal);
    return chosen ? [chosen] : [];
  }

  #measure(): Promise<NodeUsage> {
    return this.#o.stats.node(new Set(this.#thresholds.map(({ signal }) => signal)));
  }

  /** The layout does not change while the agent runs. Undefined until the runtime has responded. */
  async #fsLayout(): Promise<FsLayout | undefined> {
    if (this.#layout) return this.#layout;
    const { stats, logger } = this.#o;
    try {
      this.#layout = await stats.layout();
    } catch (error) {
      const err = messageOf(error);
      // The same error again is logged at a higher verbosity.
      const level = err === this.#layoutError ? 4 : 2;
      logger.debug(level, "Eviction manager: failed to get HasDedicatedImageFs", { err });
      this.#layoutError = err;
      return undefined;
    }
    for (const { signal } of this.#thresholds.filter((t) => t.signal.startsWith("containerfs.")))
      logger.warn("Eviction manager: found conflicting containerfs eviction. Ignoring.", { signal });
    this.#thresholds = withContainerFs(this.#thresholds, this.#layout);
    return this.#layout;
  }

  /** Reclaims resources that no pod uses; if that is not enough, evicts one pod. */
  async #reclaim(
    toReclaim: readonly Threshold[],
    layout: FsLayout,
    measuredAt: MonotonicTime,
    signal: AbortSignal,
  ): Promise<Evicted | undefined> {
    const { nodeEvents, logger } = this.#o;
    const [threshold] = toReclaim;
    if (!threshold) return undefined;
    const resourceName = resourceOf(threshold.signal);
    logger.info("Eviction manager: attempting to reclaim", { resourceName });
    nodeEvents.warning("EvictionThresholdMet", `Attempting to reclaim ${resourceName}`);
    if (await this.#reclaimFromNode(threshold, layout, signal)) {
      logger.info("Eviction manager: able to reduce resource pressure without evicting pods.", {
        resourceName,
      });
      return undefined;
    }
    signal.throwIfAborted();
    logger.info("Eviction manager: must evict pod(s) to reclaim", { resourceName });
    return this.#evictOne(toReclaim, threshold, layout, measuredAt);
  }

  async #reclaimFromNode(threshold: Threshold, layout: FsLayout, signal: AbortSignal): Promise<boolean> {
    const { reclaim, logger } = this.#o;
    const steps = nodeReclaims(threshold.signal, layout);
    for (const step of steps) {
      try {
        await reclaim(step, signal);
      } catch (error) {
        if (signal.aborted) throw error;
        logger.info("Eviction manager: unexpected error when attempting to reduce resource pressure", {
          resourceName: resourceOf(threshold.signal),
          err: messageOf(error),
        });
      }
    }
    if (steps.length === 0) return false;
    this.#observations = observationsOf(await this.#measure());
    return thresholdsMet(this.#thresholds, this.#observations, { minReclaim: true }).length === 0;
  }

  async #evictOne(
    toReclaim: readonly Threshold[],
    threshold: Threshold,
    layout: FsLayout,
    measuredAt: MonotonicTime,
  ): Promise<Evicted | undefined> {
    const { stats, activePods, podLevel, evicted, logger, metrics, clock, maxPodGraceSeconds } = this.#o;
    const resource = resourceOf(threshold.signal);
    const podStats = await stats.pods(resource);
    const statsOf = ({ metadata }: Pod) => podStats.get(metadata.uid);
    const ranked = rankPods(activePods(), { signal: threshold.signal, layout, statsOf, podLevel });
    if (ranked.length === 0) {
      logger.error("Eviction manager: eviction thresholds have been met, but no pods are active to evict");
      return undefined;
    }
    logger.info("Eviction manager: pods ranked for eviction", { pods: ranked.map((r) => podRef(r.pod)) });
    for (const { signal } of toReclaim) metrics.statsUsed(signal, msSince(clock, measuredAt));
    const candidates = ranked.filter((r) => mayEvict(r, logger));
    const [chosen] = candidates;
    if (!chosen) {
      logger.info("Eviction manager: unable to evict any pods from the node");
      return undefined;
    }
    const { pod } = chosen;
    if (evicted.has(pod.metadata.uid)) {
      logger.info("Eviction manager: waiting for the pod that was evicted to terminate", {
        pod: podRef(pod),
      });
      return undefined;
    }
    const own = pod.spec.terminationGracePeriodSeconds ?? maxPodGraceSeconds;
    const graceSeconds = isHard(threshold) ? immediately : Math.min(maxPodGraceSeconds, own);
    const observations = this.#observations;
    const { message, annotations } = evictionText({
      pod,
      stats: statsOf(pod),
      resource,
      thresholds: toReclaim,
      observations,
      podLevel,
    });
    const detail = `${signalText(threshold, observations)}; ${choiceText(chosen, resource, candidates.length)}`;
    const disruption = { type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message };
    metrics.evicted(threshold.signal);
    return this.#evict(pod, { message, detail, conditions: [disruption], annotations, graceSeconds });
  }

  /** Evicts all pods that exceed a limit of local ephemeral storage. */
  async #evictExceeding(pods: readonly Pod[], layout: FsLayout): Promise<Evicted[]> {
    const { localStorage, stats, evicted, metrics, logger } = this.#o;
    if (!localStorage) return [];
    const limited = pods.filter((pod) => limitsStorage(pod) && !evicted.has(pod.metadata.uid));
    if (limited.length === 0) return [];
    const evictions: Evicted[] = [];
    const podStats = await stats.storage(limited);
    for (const pod of limited) {
      const found = podStats.get(pod.metadata.uid);
      const exceeded = found && exceededStorageLimit(pod, found, layout);
      if (!exceeded) continue;
      if (isCritical(pod)) {
        logger.error("Eviction manager: cannot evict a critical pod", { pod: podRef(pod) });
        continue;
      }
      const { message, detail } = exceeded;
      metrics.evicted(exceeded.signal);
      evictions.push(await this.#evict(pod, { message, detail, graceSeconds: immediately }));
    }
    return evictions;
  }

  async #evict(
    pod: Pod,
    o: {
      readonly message: string;
      readonly detail: string;
      readonly graceSeconds: number;
      readonly conditions?: PodFailure["conditions"];
      readonly annotations?: Readonly<Record<string, string>>;
    },
  ): Promise<Evicted> {
    const { events, evicted, clock, logger } = this.#o;
    const { message, detail, graceSeconds, conditions } = o;
    const { uid } = pod.metadata;
    events.warning(pod, "Evicted", message, undefined, o.annotations);
    const reason = "Evicted";
    const failure: PodFailure = {
      phase: "Failed",
      reason,
      message,
      detail,
      ...(conditions && { conditions }),
    };
    this.#lastEviction = { pod: podRef(pod), why: detail, at: clock.wall() };
    await evicted.evict(uid, { failure, graceSeconds });
    logger.info("Eviction manager: pods evicted, waiting for pod to be cleaned up", {
      pods: [podRef(pod)],
      why: detail,
    });
    return { uid, pod, graceSeconds };
  }

  /** The next measurement is only meaningful when the pod has terminated and its volumes are removed. */
  async #untilCleanedUp(
    { uid, pod }: { uid: PodUid; pod?: Pod },
    graceSeconds: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { terminationOf, events, logger } = this.#o;
    const fields = { pods: [pod ? podRef(pod) : uid] };
    const killMs = Math.max(minKillSeconds, graceSeconds + Math.floor(graceSeconds / 2)) * 1000;
    const isKilled = await this.#until(() => terminationOf(uid) !== "none", killMs, signal);
    if (isKilled) logger.info("Eviction manager: pod is evicted successfully", fields);
    else if (!signal.aborted && pod)
      events.warning(
        pod,
        "ExceededGracePeriod",
        "Container runtime did not kill the pod within specified grace period.",
      );
    if (await this.#until(() => terminationOf(uid) === "finished", cleanupMs, signal))
      logger.info("Eviction manager: pods successfully cleaned up", fields);
    else if (!signal.aborted)
      logger.info("Eviction manager: timed out waiting for pods to be cleaned up", fields);
  }

  /** False after the timeout, or when the agent stops. */
  async #until(isDone: () => boolean, withinMs: number, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#o;
    const since = clock.monotonic();
    while (!isDone()) {
      if (signal.aborted || msSince(clock, since) >= withinMs) return false;
      await sleep(clock, pollMs, signal).catch(() => {});
    }
    return true;
  }

  /** Waits until the next measurement is due, or the kernel reports that memory usage has crossed a threshold. */
  async #pause(signal: AbortSignal): Promise<void> {
    // The measurement that has just ended may include an earlier crossing.
    this.#thresholdCrossed.reset();
    await this.#thresholdCrossed.wait(this.#o.clock, everyMs, signal);
  }

  async #updateNotifier(usage: NodeUsage): Promise<void> {
    const { notifier, clock, logger } = this.#o;
    if (!notifier || (this.#notifierAt && msSince(clock, this.#notifierAt) < notifierEveryMs)) return;
    this.#notifierAt = clock.monotonic();
    const crossed = () => {
      logger.info("Eviction manager: memory eviction threshold crossed");
      this.#thresholdCrossed.notify();
    };
    await notifier.set(usageThresholds(this.#thresholds, usage), crossed).catch((error) => {
      const err = messageOf(error);
      logger.debug(2, "Eviction manager: failed to create memory threshold notifier", { err });
    });
  }

  #setConditions(conditions: NodePressure["conditions"]): void {
    const { pressure, onPressure } = this.#o;
    const met = byUrgency([...this.#state.metSince.keys()]);
    const cause = met.map((t) => signalText(t, this.#observations)).join("; ");
    // While nothing is met, the cause of a condition that is kept for the transition period is kept too.
    if (pressure.set(conditions, cause === "" && conditions.length > 0 ? pressure.cause : cause))
      onPressure();
  }

  #reportUnobserved(thresholds: readonly Threshold[], observations: Observations): void {
    for (const { signal } of thresholds) {
      if (observations.has(signal)) this.#unobserved.delete(signal);
      else if (!this.#unobserved.has(signal)) {
        this.#unobserved.add(signal);
        this.#o.logger.info("Eviction manager: no observation found for eviction signal", { signal });
      }
    }
  }
}

interface Evicted {
  readonly uid: PodUid;
  readonly pod: Pod;
  readonly graceSeconds: number;
}

/** Critical pods, and with them all static pods, are never evicted. */
function mayEvict({ pod }: RankedPod, logger: Logger): boolean {
  if (!isCritical(pod)) return true;
  logger.debug(2, "Eviction manager: cannot evict a critical pod", { pod: podRef(pod) });
  return false;
}
