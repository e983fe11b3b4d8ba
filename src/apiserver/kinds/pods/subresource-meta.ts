import { core } from "../../../lib/schema/types/core/core.ts";
import { restoreField } from "../../storage/object.ts";
import type { PodDraft } from "./pod-draft.ts";

const fixed = [
  ...["deletionTimestamp", "deletionGracePeriodSeconds", "generation"],
  ...["labels", "annotations", "finalizers", "ownerReferences"],
] as const;

/** A subresource for fields of the spec does not change status and metadata. */
export function keepTheRest(pod: PodDraft, old: PodDraft): void {
  for (const field of fixed) restoreField(pod.metadata, structuredClone(old.metadata), field);
  if (old.status) pod.status = structuredClone(old.status);
  else delete pod.status;
}

/** The paths that a subresource for these fields of the spec does not write. */
export function allBut(...written: readonly string[]): string[][] {
  const fields = [...core.struct("PodSpec")!.fields.keys()];
  const others = fields.filter((field) => !written.includes(field)).map((field) => ["spec", field]);
  return [["metadata"], ["status"], ...others];
}
