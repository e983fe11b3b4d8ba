import type { ApiObject } from "../../storage/object.ts";
import { asPod } from "./pod-draft.ts";

/** How long a pod stays after it was deleted: until its node has ended it, or not at all if no node has to. */
export function podDeletionGrace(current: ApiObject, requested: number | undefined): number {
  const { spec, status } = asPod(current);
  if (!spec.nodeName) return 0;
  if (status?.phase === "Succeeded" || status?.phase === "Failed") return 0;
  const period = requested ?? spec.terminationGracePeriodSeconds ?? 0;
  return period < 0 ? 1 : period;
}
