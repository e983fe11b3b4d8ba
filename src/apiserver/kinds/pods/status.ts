import type { Unstructured, UpdateSubresource } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import { asPod, type PodDraft } from "./pod-draft.ts";
import { validateStatusUpdate } from "./validation/validate-status.ts";

/** The subresource for the node that runs the pod. */
export const statusSubresource: UpdateSubresource = {
  type: "update",
  ignored: [["spec"], ["metadata", "deletionTimestamp"], ["metadata", "ownerReferences"]],
  prepareUpdate: prepareStatusUpdate,
  validateUpdate: validateStatusUpdate,
};

function prepareStatusUpdate(draft: Unstructured, oldObject: ApiObject): void {
  const pod = asPod(draft);
  const old = asPod(oldObject);
  pod.spec = structuredClone(old.spec);
  for (const field of ["deletionTimestamp", "deletionGracePeriodSeconds"] as const)
    if (old.metadata[field] === undefined) delete pod.metadata[field];
    else Object.assign(pod.metadata, { [field]: old.metadata[field] });
  if (old.metadata.ownerReferences)
    pod.metadata.ownerReferences = structuredClone(old.metadata.ownerReferences);
  else delete pod.metadata.ownerReferences;
  pod.status ??= {};
  if (!pod.status.qosClass && old.status?.qosClass) pod.status.qosClass = old.status.qosClass;
  keepObservedGenerations(pod, old);
}

/** A client that sends no observedGeneration does not clear the one that others wrote. */
function keepObservedGenerations(pod: PodDraft, old: PodDraft): void {
  const status = pod.status ?? {};
  const observed = status.observedGeneration || old.status?.observedGeneration;
  if (observed) status.observedGeneration = observed;
  const known = new Map<string, (number | undefined)[]>();
  for (const { type, observedGeneration } of old.status?.conditions ?? [])
    known.set(type, [...(known.get(type) ?? []), observedGeneration]);
  for (const condition of status.conditions ?? []) {
    const generation = known.get(condition.type)?.shift();
    if (!condition.observedGeneration && generation) condition.observedGeneration = generation;
  }
}
