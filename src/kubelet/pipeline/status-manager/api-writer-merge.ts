import type { WallTime } from "../../../lib/base/time.ts";
import type { PodCondition, PodStatus } from "../../../lib/model/pod.ts";
import { isTerminalPhase } from "../../../lib/model/pod-phase.ts";
import { core } from "../../../lib/schema/types/core/core.ts";
import { isoSeconds } from "./api-types.ts";
import { kubeletConditions } from "./conditions.ts";

const disruption = "DisruptionTarget";

/**
 * Fields of the status that the kubelet does not write. They are kept as the API server has them, and so are fields that only a newer API
 * server knows.
 */
const externalFields = [
  "resourceClaimStatuses",
  "extendedResourceClaimStatus",
  "nodeAllocatableResourceClaimStatuses",
];
const isUnknown = (field: string) => !core.struct("PodStatus")!.fields.has(field);

export interface MergeInfo {
  /** A container of the pod could still run: until none can, a terminal phase is not written. */
  couldHaveRunningContainers: boolean;
  /** The pod in the API is the mirror of a static pod, which may run again after a restart of the kubelet. */
  isMirror?: boolean;
  now: WallTime;
}

/** The status to write: ours, with the fields and conditions of other clients kept. */
export function mergeStatus(
  api: PodStatus,
  own: PodStatus,
  { couldHaveRunningContainers, isMirror = false, now }: MergeInfo,
): PodStatus {
  const terminates = !isTerminalPhase(api.phase) && isTerminalPhase(own.phase);
  const merged: PodStatus = {
    ...own,
    conditions: mergeConditions(api, own, terminates && !couldHaveRunningContainers, now),
  };
  for (const field of [...externalFields, ...Object.keys(api).filter(isUnknown)])
    copyField(field, api, merged);
  // Other clients may fail a pod too (pod garbage collection does): a terminal phase is kept.
  const keepsPhase =
    (terminates && couldHaveRunningContainers) ||
    (isTerminalPhase(api.phase) && api.phase !== own.phase && !isMirror);
  if (keepsPhase) for (const field of ["phase", "reason", "message"]) copyField(field, api, merged);
  if ((api.observedGeneration ?? 0) > (own.observedGeneration ?? 0))
    copyField("observedGeneration", api, merged);
  if (isTerminalPhase(merged.phase)) merged.conditions = notReady(api, merged, now);
  return merged;
}

function mergeConditions(
  api: PodStatus,
  own: PodStatus,
  hasTerminated: boolean,
  now: WallTime,
): PodCondition[] {
  const merged = (api.conditions ?? []).filter((c) => !kubeletConditions.has(c.type));
  for (const condition of own.conditions ?? []) {
    if (kubeletConditions.has(condition.type)) merged.push(condition);
    else if (condition.type === disruption && hasTerminated) {
      const at = merged.findIndex((c) => c.type === disruption);
      // Its transition time is the time of the write.
      const since =
        merged[at]?.status === condition.status ? merged[at]?.lastTransitionTime : isoSeconds(now);
      const written = { ...condition, ...(since ? { lastTransitionTime: since } : {}) };
      if (at < 0) merged.push(written);
      else merged[at] = written;
    }
  }
  return merged;
}

/** A terminated pod is not ready, even if the client that failed it did not set that. */
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
