import type { Pod, PodStatus } from "../../../lib/model/pod.ts";
import { type DiffRules, type Fields, strategicDiff } from "../../../lib/model/strategic-diff.ts";
import { mergeKeys } from "../../../lib/schema/merge-keys.ts";
import { core } from "../../../lib/schema/types/core/core.ts";

/** A strategic merge patch of pods/status. */
export interface StatusPatch {
  /**
   * Both are preconditions. The UID: another pod of the same name is not written. The resource version: the patch was built from the
   * current object, so that it does not revert changes of other clients.
   */
  metadata: { uid: string; resourceVersion?: string };
  status: Fields;
}

/** Container statuses are replaced as a whole. The order of addresses matters: the first is the primary one. */
function rules(): DiffRules {
  knownRules ??= { mergeKeys: mergeKeys(core.struct("PodStatus")!), ordered: ["podIPs", "hostIPs"] };
  return knownRules;
}
let knownRules: DiffRules | undefined;

/** The patch from the status in the API to this one; undefined if they are equal. */
export function statusPatch(api: Pod, after: PodStatus): StatusPatch | undefined {
  const status = strategicDiff((api.status ?? {}) as Fields, after as Fields, rules());
  if (Object.keys(status).length === 0) return undefined;
  const { uid, resourceVersion } = api.metadata;
  return { metadata: { uid, ...(resourceVersion ? { resourceVersion } : {}) }, status };
}

const addressFields = ["podIP", "podIPs", "hostIP", "hostIPs", "observedGeneration"];

/**
 * The state of the sandbox, for a patch that only reports that it was created or has stopped, with its addresses. A change of the
 * containers usually follows soon: both fit in one request.
 */
export function reportsOnlySandbox({ status }: StatusPatch): "ready" | "stopped" | undefined {
  const { conditions, "$setElementOrder/conditions": _order, ...rest } = status;
  if (!Array.isArray(conditions) || !Object.keys(rest).every((name) => addressFields.includes(name)))
    return undefined;
  const [condition, ...others]: Fields[] = conditions;
  if (condition?.type !== "PodReadyToStartContainers" || others.length > 0) return undefined;
  return condition.status === "True" ? "ready" : "stopped";
}
