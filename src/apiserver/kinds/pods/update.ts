import type { Draft } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import { tolerateTrouble } from "./admission/tolerations.ts";
import { asPod } from "./pod-draft.ts";

/** Before another write of a pod: its status is not changed by this door, and admission fills in what it did the first time. */
export function prepareUpdate(draft: Draft, before: ApiObject): void {
  const pod = asPod(draft);
  const old = asPod(before);
  if (old.status) pod.status = structuredClone(old.status);
  else delete pod.status;
  pod.spec.priority ??= old.spec.priority;
  if (pod.spec.priority === undefined) delete pod.spec.priority;
  pod.spec.preemptionPolicy ??= old.spec.preemptionPolicy;
  if (pod.spec.preemptionPolicy === undefined) delete pod.spec.preemptionPolicy;
  tolerateTrouble(pod.spec);
}
