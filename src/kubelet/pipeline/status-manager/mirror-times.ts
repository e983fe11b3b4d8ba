import type { PodStatus } from "../../../lib/model/pod.ts";

/**
 * A static pod is known before its mirror, so a restarted agent does not have the transition times. Conditions that have the same status
 * in the mirror get its times.
 */
export function withMirrorTimes(before: PodStatus | undefined, own: PodStatus): PodStatus {
  if (!before) return own;
  const conditions = own.conditions?.map((condition) => {
    const old = before.conditions?.find((c) => c.type === condition.type);
    const since = old?.status === condition.status ? old.lastTransitionTime : undefined;
    return since ? { ...condition, lastTransitionTime: since } : condition;
  });
  return {
    ...own,
    ...(before.startTime && { startTime: before.startTime }),
    ...(conditions && { conditions }),
  };
}
