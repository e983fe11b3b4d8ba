import type { PodCondition, PodStatus } from "../../../lib/model/pod.ts";
import { timestamp } from "./pod-draft.ts";

/** Sets a condition; its transition time is kept while its status does not change. */
export function setCondition(
  status: PodStatus,
  condition: Omit<PodCondition, "lastTransitionTime" | "lastProbeTime">,
  now: number,
): void {
  status.conditions ??= [];
  const at = status.conditions.findIndex(({ type }) => type === condition.type);
  const old = status.conditions[at];
  const since = old?.status === condition.status ? old.lastTransitionTime : undefined;
  const next: PodCondition = { ...condition, lastTransitionTime: since ?? timestamp(now) };
  if (old) status.conditions[at] = next;
  else status.conditions.push(next);
}
