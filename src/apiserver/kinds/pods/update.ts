import type { Unstructured } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import { addDefaultTolerations } from "./admission/tolerations.ts";
import { asPod } from "./pod-draft.ts";

/** Prepares an update of a pod: the status is kept, and the default tolerations are added again. */
export function prepareUpdate(draft: Unstructured, oldObject: ApiObject): void {
  const pod = asPod(draft);
  const old = asPod(oldObject);
  if (old.status) pod.status = structuredClone(old.status);
  else delete pod.status;
  pod.spec.priority ??= old.spec.priority;
  if (pod.spec.priority === undefined) delete pod.spec.priority;
  pod.spec.preemptionPolicy ??= old.spec.preemptionPolicy;
  if (pod.spec.preemptionPolicy === undefined) delete pod.spec.preemptionPolicy;
  addDefaultTolerations(pod.spec);
}
