import { type Clock, sleep } from "../../../lib/base/clock.ts";
import type { Component } from "../../../lib/base/component.ts";
import { isAbort, messageOf } from "../../../lib/base/errors.ts";
import type { Logger } from "../../../lib/base/logger.ts";
import { type Container, type Pod, type PodUid, podRef } from "../../../lib/model/pod.ts";
import type { PodEvents } from "../../../lib/model/pod-events.ts";
import { podQos } from "../../../lib/model/qos.ts";
import { podRequests } from "../../../lib/model/resources.ts";
import type { InitialSync } from "../../pipeline/sync-loop/initial-sync.ts";
import type { PodAdmission } from "../../pods/admission/pod-admission.ts";
import type { DesiredPods } from "../../state/desired-pods.ts";
import { isResizable, sameResources } from "./allocated-pod.ts";
import type { Allocation } from "./allocation.ts";
import { resizeOperations } from "./resize-change.ts";
import type { ResizeConditions } from "./resize-conditions.ts";
import { infeasibleResize, type ResizeLimits } from "./resize-feasibility.ts";
import type { ResizeMetrics, ResizeTrigger } from "./resize-metrics.ts";
import { compareResizes, type PendingPod } from "./resize-order.ts";

export interface ResizesOptions {
  readonly allocation: Pick<Allocation, "allocatedPod" | "differs" | "allocate">;
  readonly conditions: ResizeConditions;
  readonly limits: ResizeLimits;
  /** The current pod of its source. */
  readonly desired: Pick<DesiredPods, "get">;
  readonly admission: Pick<PodAdmission, "rejectResize">;
  readonly initialSync: Pick<InitialSync, "isComplete">;
  readonly events: Pick<PodEvents, "normal" | "warning">;
  readonly metrics: ResizeMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A pod has another allocation: its worker has to act on it. */
  readonly onAllocated: (uid: PodUid) => void;
  /** A condition about the resize of a pod has changed. Its worker must not be woken: it may be what the worker has just found. */
  readonly onChange: (uid: PodUid) => void;
}

const retryEveryMs = 3 * 60_000;

/**
 * Decides about resizes: a pod whose spec requests different resources gets them as soon as the node has them. Until then the
 * resize is pending: deferred, and retried when resources become free, or infeasible, until the spec changes again.
 */
export class Resizes implements Component {
  readonly name = "pod-resizes";
  readonly #o: ResizesOptions;
  /** The last spec of each pod. */
  readonly #seen = new Map<PodUid, Pod>();
  /** Resizes that were not decided yet, or are deferred. */
  #pending: PodUid[] = [];
  #loop: Promise<void> = Promise.resolve();

  constructor(options: ResizesOptions) {
    this.#o = options;
  }

  get done(): Promise<void> {
    return this.#loop;
  }

  async start(signal: AbortSignal): Promise<void> {
    this.#loop = this.#retryPeriodically(signal);
  }

  /** Pods of a source are new, perhaps only for this agent. */
  added(pods: readonly Pod[]): void {
    const { allocation, conditions } = this.#o;
    for (const pod of pods) {
      const { uid } = pod.metadata;
      this.#seen.set(uid, pod);
      conditions.restore(pod);
      if (allocation.differs(pod)) this.#push(uid);
      else conditions.clear(uid, "PodResizePending");
    }
    this.retry("pods_added");
  }

  updated(pods: readonly Pod[]): void {
    const { allocation, conditions, onChange } = this.#o;
    let isResized = false;
    for (const pod of pods) {
      const { uid } = pod.metadata;
      const before = this.#seen.get(uid);
      this.#seen.set(uid, pod);
      if (before && !this.#count(before, pod)) continue;
      if (allocation.differs(pod)) {
        this.#push(uid);
        isResized = true;
      } else {
        this.#drop(uid);
        if (conditions.clear(uid, "PodResizePending")) onChange(uid);
      }
    }
    if (isResized) this.retry("pod_updated");
  }

  removed(uids: readonly PodUid[]): void {
    for (const uid of uids) {
      this.#seen.delete(uid);
      this.#drop(uid);
    }
    this.retry("pods_removed");
  }

  /** The pod will never run again. */
  terminated(uid: PodUid): void {
    this.#drop(uid);
    this.#o.conditions.forget(uid);
    this.retry("pod_terminated");
  }

  /** Tries all pending resizes, in their order. */
  retry(trigger: ResizeTrigger): void {
    const { conditions, logger, initialSync, desired } = this.#o;
    if (this.#pending.length === 0 || !initialSync.isComplete()) return;
    const pending = this.#pending;
    this.#pending = [];
    for (const uid of this.#ordered(pending)) {
      const pod = desired.get(uid);
      if (!pod) continue;
      try {
        const wasDeferred = conditions.get(uid, "PodResizePending")?.reason === "Deferred";
        const decision = this.#decide(pod);
        if (decision === "deferred") this.#pending.push(uid);
        if (decision === "allocated" && wasDeferred) this.#o.metrics.deferredAccepted(trigger);
      } catch (error) {
        // A fault in one pod must not block the resizes of the others.
        this.#pending.push(uid);
        logger.error("Failed to handle pod resize, will retry", {
          pod: podRef(pod),
          podUID: uid,
          err: messageOf(error),
        });
      }
    }
  }

  /** The worker has found that its pod, with this allocation, is being resized, or that nothing is left to do. */
  progressed(pod: Pod, isResizing: boolean): void {
    const { conditions, events, onChange } = this.#o;
    const { uid, generation = 0 } = pod.metadata;
    if (!this.#isCurrent(pod)) return;
    if (isResizing) {
      if (conditions.get(uid, "PodResizeInProgress")) return;
      conditions.set(uid, "PodResizeInProgress", { reason: "", message: "", generation });
      return onChange(uid);
    }
    const ended = conditions.clear(uid, "PodResizeInProgress");
    if (!ended) return;
    events.normal(pod, "ResizeCompleted", resizeMessage("completed", pod, ended));
    onChange(uid);
    this.retry("pod_resized");
  }

  /** The resources of the pod could not be written. It is retried. */
  failed(pod: Pod, message: string): void {
    const { conditions, events, onChange } = this.#o;
    const { uid } = pod.metadata;
    if (!this.#isCurrent(pod)) return;
    const generation = conditions.get(uid, "PodResizeInProgress")?.generation ?? pod.metadata.generation ?? 0;
    if (!conditions.set(uid, "PodResizeInProgress", { reason: "Error", message, generation })) return;
    events.warning(pod, "ResizeError", resizeMessage("error", pod, { generation, error: message }));
    onChange(uid);
  }

  #decide(pod: Pod): "allocated" | "deferred" | "infeasible" | "none" {
    const { allocation, conditions, events, limits, metrics, onAllocated, onChange, admission } = this.#o;
    const { uid, generation = 0 } = pod.metadata;
    const allocated = allocation.allocatedPod(pod);
    if (allocated === pod) {
      if (conditions.clear(uid, "PodResizePending")) onChange(uid);
      return "none";
    }
    const infeasible = infeasibleResize(pod, allocated, limits);
    const rejection = infeasible ? { reason: "Infeasible", ...infeasible } : admission.rejectResize(pod);
    if (infeasible) metrics.infeasible(infeasible.detail);
    if (!rejection) {
      allocation.allocate(pod);
      conditions.clear(uid, "PodResizePending");
      // An error of an earlier resize no longer applies.
      conditions.clear(uid, "PodResizeInProgress");
      conditions.set(uid, "PodResizeInProgress", { reason: "", message: "", generation });
      events.normal(pod, "ResizeStarted", resizeMessage("started", pod, { generation }));
      onAllocated(uid);
      return "allocated";
    }
    const reason = infeasible ? "Infeasible" : "Deferred";
    const before = conditions.get(uid, "PodResizePending");
    if (conditions.set(uid, "PodResizePending", { reason, message: rejection.message, generation })) {
      if (before?.reason !== reason || before.generation !== generation)
        events.warning(
          pod,
          infeasible ? "ResizeInfeasible" : "ResizeDeferred",
          resizeMessage(rejection.reason, pod, { generation, error: rejection.message }),
        );
      onChange(uid);
    }
    return infeasible ? "infeasible" : "deferred";
  }

  /** The worker may still run with an allocation that has been replaced. */
  #isCurrent(pod: Pod): boolean {
    return !this.#o.allocation.differs(pod);
  }

  /** Counts what a new spec requests; false if it requests the same resources as before. */
  #count(before: Pod, after: Pod): boolean {
    const { metrics, limits } = this.#o;
    const operations = [true, false].flatMap((isInit) =>
      containersOf(after, isInit)
        .filter((container) => isResizable(container, isInit, limits.gates))
        .flatMap(({ name, resources }) => {
          const old = containersOf(before, isInit).find((container) => container.name === name);
          return old ? resizeOperations(old.resources, resources) : [];
        }),
    );
    for (const operation of operations) metrics.requested(operation);
    return operations.length > 0 || !sameResources(before.spec.resources, after.spec.resources);
  }

  #ordered(uids: readonly PodUid[]): PodUid[] {
    const { desired, allocation, conditions, limits } = this.#o;
    const options = { podLevel: limits.podLevelResources };
    const keyOf = (uid: PodUid): PendingPod | undefined => {
      const pod = desired.get(uid);
      if (!pod) return undefined;
      const [before, after] = [allocation.allocatedPod(pod), pod].map((each) => podRequests(each, options));
      return {
        increasesRequests: ["cpu", "memory"].some(
          (name) => (after?.get(name) ?? 0n) > (before?.get(name) ?? 0n),
        ),
        priority: pod.spec.priority ?? 0,
        isGuaranteed: podQos(pod, options) === "Guaranteed",
        since: conditions.get(uid, "PodResizePending")?.since,
      };
    };
    return uids
      .flatMap((uid) => {
        const key = keyOf(uid);
        return key ? [{ uid, key }] : [];
      })
      .sort((a, b) => compareResizes(a.key, b.key))
      .map(({ uid }) => uid);
  }

  #push(uid: PodUid): void {
    if (!this.#pending.includes(uid)) this.#pending.push(uid);
  }

  #drop(uid: PodUid): void {
    this.#pending = this.#pending.filter((other) => other !== uid);
  }

  async #retryPeriodically(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        await sleep(this.#o.clock, retryEveryMs, signal);
        this.retry("periodic_retry");
      }
    } catch (error) {
      if (!isAbort(error)) throw error;
    }
  }
}

function containersOf({ spec }: Pod, isInit: boolean): readonly Container[] {
  return isInit ? (spec.initContainers ?? []) : spec.containers;
}

/** The message of an event about a resize: what is requested or allocated, and what prevents it. */
function resizeMessage(
  what: string,
  { spec }: Pod,
  { generation, error }: { readonly generation: number; readonly error?: string },
): string {
  const summary = (containers: readonly Container[]) =>
    containers.map(({ name, resources = {} }) => ({ name, resources }));
  const inits = summary(spec.initContainers ?? []);
  const text = JSON.stringify({
    ...(inits.length > 0 ? { initContainers: inits } : {}),
    containers: summary(spec.containers),
    generation,
    ...(error ? { error } : {}),
  });
  return `Pod resize ${what}: ${text}`;
}
