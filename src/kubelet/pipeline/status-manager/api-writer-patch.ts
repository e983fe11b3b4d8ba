import type { Pod, PodStatus } from "../../../lib/model/pod.ts";
import { type DiffRules, type Fields, strategicDiff } from "../../../lib/model/strategic-diff.ts";
import { mergeKeys } from "../../../lib/schema/merge-keys.ts";
import { core } from "../../../lib/schema/types/core/core.ts";

/** A strategic merge patch of pods/status. */
export interface StatusPatch {
  /**
   * Both are preconditions. The UID: another pod of the name is not ours to write to. The resource version: what we made
   * the patch from is still what the API has, so that nothing of others is undone.
   */
  metadata: { uid: string; resourceVersion?: string };
  status: Fields;
}

/** Container statuses are replaced as a whole. The order of addresses has a meaning: the first is the primary one. */
const rules = (): DiffRules => ({
  mergeKeys: mergeKeys(core.struct("PodStatus")!),
  ordered: ["podIPs", "hostIPs"],
});

/** What makes the status of a pod in the API this one; undefined if it is that already. */
export function statusPatch(api: Pod, after: PodStatus): StatusPatch | undefined {
  const status = strategicDiff((api.status ?? {}) as Fields, after as Fields, rules());
  if (Object.keys(status).length === 0) return undefined;
  const { uid, resourceVersion } = api.metadata;
  return { metadata: { uid, ...(resourceVersion ? { resourceVersion } : {}) }, status };
}
