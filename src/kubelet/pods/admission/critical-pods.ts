import { type Clock, msFromNow, msUntil } from "../../../lib/base/clock.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import type { Metrics } from "../../../lib/base/metrics.ts";
import { latest, type MonotonicTime } from "../../../lib/base/time.ts";
import { type Pod, type PodUid, podRef } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import type { PodFailure } from "../../../lib/model/pod-failure.ts";
import type { Admission } from "../../../lib/model/pod-sync.ts";
import { choosePreempted, requirementsText } from "./preemption.ts";
import { amountsText, candidatesText, preempted } from "./preemption-text.ts";
import { type FitContext, type Insufficient, insufficientResources } from "./resources-fit.ts";

export interface CriticalPodsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: PodEvents;
  readonly metrics: Metrics;
  /** Records that the pod has failed, and terminates it. `isTerminating` is true of it immediately. */
  readonly evict: (uid: PodUid, failure: PodFailure) => void;
  /** True if the pod is being terminated, for any reason. */
  readonly isTerminating: (uid: PodUid) => boolean;
  /** True if containers of the pod run: it was admitted before, perhaps by a previous agent. */
  readonly runs: (uid: PodUid) => boolean;
}

const minTimeoutMs = 10_000;

/**
 * Frees resources for critical pods: preempts other pods, and lets the critical pod wait until they have terminated. Its resources are
 * reserved in the meantime. It waits for pods that are already terminating instead of preempting them, so that an agent that restarts in between
 * preempts no further pods.
 */
export class CriticalPods {
  readonly #o: CriticalPodsOptions;
  readonly #preemptions: ReturnType<Metrics["counter"]>;
  /** The deadline of each waiting critical pod, in the order of their admission. */
  readonly #waiting = new Map<PodUid, MonotonicTime>();

  constructor(options: CriticalPodsOptions) {
    this.#o = options;
    this.#preemptions = options.metrics.counter({
      name: "kubelet_preemptions",
      help: "Cumulative number of pod preemptions by preemption resource",
      labels: ["preemption_signal"],
    });
  }

  /** The critical pods whose resources are reserved ahead of this pod: those that have waited longer. */
  reserved(uid: PodUid, active: readonly Pod[]): Pod[] {
    const alive = new Map(active.map((pod) => [pod.metadata.uid, pod]));
    for (const other of [...this.#waiting.keys()])
      if (!alive.has(other) || this.#o.isTerminating(other)) this.#waiting.delete(other);
    const uids = [...this.#waiting.keys()];
    const earlier = this.#waiting.has(uid) ? uids.slice(0, uids.indexOf(uid)) : uids;
    return earlier.flatMap((other) => alive.get(other) ?? []);
  }

  /** Decides about a critical pod that all other checks have admitted. */
  admit(pod: Pod, fit: FitContext): Admission {
    const { uid } = pod.metadata;
    const admission = this.#decide(pod, fit);
    if (admission.kind !== "waiting") this.#waiting.delete(uid);
    return admission;
  }

  #decide(pod: Pod, fit: FitContext): Admission {
    const { clock, isTerminating, runs } = this.#o;
    const { uid } = pod.metadata;
    const missing = insufficientResources(pod, fit);
    if (missing.length === 0) return { kind: "admitted" };
    const until = this.#waiting.get(uid);
    if (until !== undefined && msUntil(clock, until) <= 0) {
      this.#reportOverdue(pod, fit);
      return { kind: "admitted" };
    }
    const remaining = fit.others.filter((other) => !isTerminating(other.metadata.uid));
    const failure = this.#preempt(pod, { ...fit, others: remaining });
    if (failure) return { kind: "rejected", failure };
    // A pod that is already running has nothing to wait for.
    return runs(uid) ? { kind: "admitted" } : this.#wait(pod, missing, remaining, fit);
  }

  /** The decision about a pod that fits once terminating pods are gone, if critical pods wait for the same; undefined if none wait. */
  waitFor(reserved: readonly Pod[]): Admission | undefined {
    const untils = reserved.flatMap(({ metadata }) => this.#waiting.get(metadata.uid) ?? []);
    if (untils.length === 0) return undefined;
    const names = reserved.map(podRef).join(", ");
    return {
      kind: "waiting",
      text: `waiting until critical pods are admitted, for which others are preempted: ${names}`,
      until: latest(...untils),
    };
  }

  /** Why the pod cannot be admitted. */
  #preempt(pod: Pod, fit: FitContext): PodFailure | undefined {
    const { logger, events, evict } = this.#o;
    const missing = insufficientResources(pod, fit);
    if (missing.length === 0) return undefined;
    const requirements = missing.map(({ resource, requested, used, capacity }) => ({
      resource,
      quantity: requested - (capacity - used),
    }));
    const options = { podLevel: fit.podLevelResources };
    const choice = choosePreempted(pod, fit.others, requirements, options);
    if ("unmet" in choice) return rejection(requirementsText(choice.unmet));
    for (const victim of choice.victims) {
      const failure = preempted(pod, requirements, choice.victims, options);
      logger.info("Preempting pod to free up resources", {
        pod: podRef(victim),
        podUID: victim.metadata.uid,
        insufficientResources: requirementsText(requirements),
        requestingPod: podRef(pod),
      });
      events.warning(victim, failure.reason, failure.message);
      this.#preemptions.inc({ preemption_signal: requirements[0]?.resource ?? "" });
      evict(victim.metadata.uid, failure);
    }
    return undefined;
  }

  #wait(pod: Pod, missing: readonly Insufficient[], remaining: readonly Pod[], fit: FitContext): Admission {
    const { clock, isTerminating } = this.#o;
    const { uid } = pod.metadata;
    const terminating = fit.others.filter((other) => isTerminating(other.metadata.uid));
    const isNew = remaining.some((other) => isTerminating(other.metadata.uid));
    const known = isNew ? undefined : this.#waiting.get(uid);
    const until = known ?? msFromNow(clock, Math.max(minTimeoutMs, ...terminating.map(timeoutMs)));
    this.#waiting.set(uid, until);
    const lacks = missing.map((m) => ({
      resource: m.resource,
      quantity: m.requested - (m.capacity - m.used),
    }));
    const options = { podLevel: fit.podLevelResources };
    const text = `waiting for others to terminate, lacks ${amountsText(lacks)}: ${candidatesText(terminating, lacks, options)}`;
    return { kind: "waiting", text, until };
  }

  /** A pod that does not terminate does not block a critical pod forever. */
  #reportOverdue(pod: Pod, { others }: FitContext): void {
    const { logger, events, isTerminating } = this.#o;
    const stuck = others.filter(({ metadata }) => isTerminating(metadata.uid));
    for (const other of stuck)
      events.warning(
        other,
        "ExceededGracePeriod",
        "Container runtime did not kill the pod within specified grace period.",
      );
    logger.warn("Pods did not terminate in time, admitting critical pod", {
      pod: podRef(pod),
      podUID: pod.metadata.uid,
      terminating: stuck.map(podRef),
    });
  }
}

/** How long a pod may take to terminate: one and a half grace periods. */
function timeoutMs({ spec }: Pod): number {
  return (spec.terminationGracePeriodSeconds ?? 0) * 1500;
}

function rejection(unmet: string): PodFailure {
  const cause = `preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: ${unmet}`;
  return {
    phase: "Failed",
    reason: "UnexpectedAdmissionError",
    message: `Pod was rejected: Unexpected error while attempting to recover from admission failure: ${cause}`,
  };
}
