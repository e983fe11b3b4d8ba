import type { WallTime } from "../../../lib/base/time.ts";
import type { PodCondition, PodStatus } from "../../../lib/model/pod.ts";
import { isoSeconds } from "./api-types.ts";
import { ownConditions } from "./conditions.ts";
import { isFinal } from "./phase.ts";

const disruption = "DisruptionTarget";

/** Fields of the status that only others write: they stay as the API has them. */
const othersFields = [
  "resourceClaimStatuses",
  "extendedResourceClaimStatus",
  "nodeAllocatableResourceClaimStatuses",
];

export interface MergeFacts {
  /** A container of the pod could still run: until none can, nobody is told that the pod has ended. */
  couldHaveRunningContainers: boolean;
  now: WallTime;
}

/** The status that the API is to have: ours, without taking from others what is theirs. */
export function mergeStatus(
  api: PodStatus,
  own: PodStatus,
  { couldHaveRunningContainers, now }: MergeFacts,
): PodStatus {
  const ends = !isFinal(api.phase) && isFinal(own.phase);
  const merged: PodStatus = {
    ...own,
    conditions: mergeConditions(api, own, ends && !couldHaveRunningContainers, now),
  };
  for (const field of othersFields) copyField(field, api, merged);
  // Others may end a pod too (garbage collection of lost nodes does): nobody takes an end back.
  const stays = (ends && couldHaveRunningContainers) || (isFinal(api.phase) && api.phase !== own.phase);
  if (stays) for (const field of ["phase", "reason", "message"]) copyField(field, api, merged);
  if ((api.observedGeneration ?? 0) > (own.observedGeneration ?? 0))
    copyField("observedGeneration", api, merged);
  if (isFinal(merged.phase)) merged.conditions = notReady(api, merged, now);
  return merged;
}

function mergeConditions(api: PodStatus, own: PodStatus, hasEnded: boolean, now: WallTime): PodCondition[] {
  const merged = (api.conditions ?? []).filter((c) => !ownConditions.has(c.type));
  for (const condition of own.conditions ?? []) {
    if (ownConditions.has(condition.type)) merged.push(condition);
    else if (condition.type === disruption && hasEnded) {
      const at = merged.findIndex((c) => c.type === disruption);
      // It was decided earlier, but it is told now.
      const since =
        merged[at]?.status === condition.status ? merged[at]?.lastTransitionTime : isoSeconds(now);
      const told = { ...condition, ...(since ? { lastTransitionTime: since } : {}) };
      if (at < 0) merged.push(told);
      else merged[at] = told;
    }
  }
  return merged;
}

/** What has ended is not ready, even if whoever ended it did not say so. */
function notReady(api: PodStatus, { phase, conditions = [] }: PodStatus, now: WallTime): PodCondition[] {
  const reason = phase === "Failed" ? "PodFailed" : "PodCompleted";
  return conditions.map((condition) => {
    const { type, status, observedGeneration, lastProbeTime } = condition;
    if ((type !== "Ready" && type !== "ContainersReady") || status !== "True") return condition;
    const old = api.conditions?.find((c) => c.type === type);
    const since = old?.status === "False" ? old.lastTransitionTime : undefined;
    return {
      type,
      status: "False",
      reason,
      ...(observedGeneration ? { observedGeneration } : {}),
      ...(lastProbeTime !== undefined ? { lastProbeTime } : {}),
      lastTransitionTime: since ?? isoSeconds(now),
    };
  });
}

function copyField(field: string, from: object, to: object): void {
  const source = from as Record<string, unknown>;
  const target = to as Record<string, unknown>;
  if (source[field] === undefined) delete target[field];
  else target[field] = source[field];
}
