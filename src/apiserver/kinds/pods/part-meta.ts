import { core } from "../../../lib/schema/types/core/core.ts";
import type { PodDraft } from "./pod-draft.ts";

const fixed = [
  ...["deletionTimestamp", "deletionGracePeriodSeconds", "generation"],
  ...["labels", "annotations", "finalizers", "ownerReferences"],
] as const;

/** A subresource for a part of the spec leaves status and metadata as they are. */
export function keepTheRest(pod: PodDraft, old: PodDraft): void {
  const meta = pod.metadata as unknown as Record<string, unknown>;
  const then = old.metadata as unknown as Record<string, unknown>;
  for (const field of fixed)
    if (then[field] === undefined) delete meta[field];
    else meta[field] = structuredClone(then[field]);
  if (old.status) pod.status = structuredClone(old.status);
  else delete pod.status;
}

/** All that is not written by a subresource for these fields of the spec. */
export function allBut(...written: readonly string[]): string[][] {
  const fields = [...core.struct("PodSpec")!.fields.keys()];
  const others = fields.filter((field) => !written.includes(field)).map((field) => ["spec", field]);
  return [["metadata"], ["status"], ...others];
}
