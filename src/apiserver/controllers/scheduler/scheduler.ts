import type { Clock } from "../../../lib/base/clock.ts";
import { httpStatusOf } from "../../../lib/base/errors.ts";
import { epochMs } from "../../../lib/base/time.ts";
import type { PodCondition } from "../../../lib/gen/kubernetes/core.d.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { ObjectRef, Objects } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import { timestamp } from "../api-times.ts";
import type { EventRecorder } from "../event-recorder.ts";
import type { ObjectCache } from "../object-cache.ts";
import { refTo } from "../object-ref.ts";
import { planScheduling, type SchedulingStep } from "./binding-plan.ts";

export interface SchedulerOptions {
  readonly objects: Objects;
  readonly cache: ObjectCache;
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  /** Binds a pod to a node; throws a StatusError. */
  readonly bind: (pod: ObjectRef, uid: string, node: string) => Promise<void>;
  /** Why a pod waits for its resource claims. */
  readonly blocked?: (pod: Pod) => string | undefined;
}

/** Binds pending pods that fit, and records the reason for the others. */
export async function schedulePods(options: SchedulerOptions): Promise<void> {
  const { cache } = options;
  const steps = planScheduling(cache.all("pods"), cache.all("nodes"), {
    claim: (namespace, name) => cache.get({ resource: "persistentvolumeclaims", namespace, name }),
    volume: (name) => cache.get({ resource: "persistentvolumes", namespace: "", name }),
    resourceClaim: (namespace, name) =>
      cache.get({ resource: "resourceclaims.resource.k8s.io", namespace, name }),
    blocked: (pod) => options.blocked?.(pod),
  });
  // In parallel: the store commits pending writes in one transaction.
  await Promise.all(steps.map((step) => execute(step, options)));
}

async function execute(step: SchedulingStep, options: SchedulerOptions): Promise<void> {
  try {
    if (step.do === "bind") await bindPod(step.pod, step.node, options);
    else await explain(step.pod, step.message, options);
  } catch (error) {
    // Deleted or bound in the meantime: the next reconciliation handles it.
    if (![404, 409].includes(httpStatusOf(error) ?? 0)) throw error;
  }
}

async function bindPod(pod: ApiObject, node: string, options: SchedulerOptions): Promise<void> {
  const { objects, cache, recorder, bind } = options;
  const ref = refTo("pods", pod);
  await bind(ref, pod.metadata.uid, node);
  cache.record("pods", await objects.get(ref));
  await recorder.record({
    about: { apiVersion: "v1", kind: "Pod", object: pod },
    type: "Normal",
    reason: "Scheduled",
    action: "Binding",
    message: `Successfully assigned ${ref.namespace}/${ref.name} to ${node}`,
  });
}

async function explain(pod: ApiObject, message: string, options: SchedulerOptions): Promise<void> {
  const { objects, cache, clock, recorder } = options;
  const condition = { type: "PodScheduled", status: "False", reason: "Unschedulable", message };
  const isSet = (conditions: readonly PodCondition[] = []) =>
    conditions.some(
      ({ type, status, reason, message: current }) =>
        type === condition.type && status === "False" && reason === condition.reason && current === message,
    );
  if (!isSet(pod.status?.conditions)) {
    const changed = await objects.change(
      refTo("pods", pod),
      (draft) => {
        const conditions: PodCondition[] = draft.status?.conditions ?? [];
        const old = conditions.find(({ type }) => type === condition.type);
        const since = old?.status === "False" ? old.lastTransitionTime : undefined;
        const next = { ...condition, lastTransitionTime: since ?? timestamp(epochMs(clock.wall())) };
        draft.status = {
          ...draft.status,
          conditions: [...conditions.filter(({ type }) => type !== condition.type), next],
        };
      },
      { subresource: "status", uid: pod.metadata.uid },
    );
    cache.record("pods", changed);
  }
  await recorder.record({
    about: { apiVersion: "v1", kind: "Pod", object: pod },
    type: "Warning",
    reason: "FailedScheduling",
    action: "Scheduling",
    message,
  });
}
