import type { PodStatus } from "../../../lib/model/pod.ts";

/**
 * A static pod is known before its mirror, so a restarted agent does not have the transition times. Conditions that have the same status
 * in the mirror get its times.
 */
export function withMirrorTimes(previous: PodStatus | undefined, own: PodStatus): PodStatus {
  if (!previous) return own;
  const conditions = own.conditions?.map((condition) => {
    const old = previous.conditions?.find((c) => c.type === condition.type);
    const since = old?.status === condition.status ? old.lastTransitionTime : undefined;
    return since ? { ...condition, lastTransitionTime: since } : condition;
  });
  return {
    ...own,
    ...(previous.startTime && { startTime: previous.startTime }),
    ...(conditions && { conditions }),
  };
}
