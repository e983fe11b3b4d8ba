import type { StatusDetails } from "../../../../lib/gen/kubernetes/meta.d.ts";
import { StatusError } from "../../../status-error.ts";
import type { PodDraft } from "../pod-draft.ts";

/** The error of an admission rule that rejects a pod. */
export function forbidden(
  pod: Pick<PodDraft, "metadata">,
  why: string,
  details?: Pick<StatusDetails, "causes">,
): StatusError {
  const name = pod.metadata.name || pod.metadata.generateName || "Unknown";
  return new StatusError(403, "Forbidden", `pods "${name}" is forbidden: ${why}`, {
    name,
    kind: "pods",
    ...details,
  });
}
