import type { PodStatus } from "../../../lib/model/pod.ts";

/**
 * A static pod is known before its mirror: an agent that was started again cannot know since when things are as they are.
 * What is still as the mirror says has been so since the mirror says.
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
