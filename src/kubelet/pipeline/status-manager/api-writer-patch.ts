import type { ContainerStatus, Pod, PodStatus } from "../../../lib/model/pod.ts";
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

/**
 * Container statuses are replaced as a whole. The order of addresses matters: the first is the primary one. Empty resources mean that the
 * container has none, and absent resources that they are not known.
 */
function rules(): DiffRules {
  knownRules ??= {
    mergeKeys: mergeKeys(core.struct("PodStatus")!),
    ordered: ["podIPs", "hostIPs"],
    keepEmptyObject: ["resources"],
  };
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
const startFields = [...addressFields, "phase", "qosClass", "startTime", "resources", "allocatedResources"];
const containerFields = ["initContainerStatuses", "containerStatuses"] as const;
const readyToStart = "PodReadyToStartContainers";
/** The default waiting reasons of a container: it is yet to be started, and nothing has failed. */
const defaultReasons: unknown[] = ["ContainerCreating", "PodInitializing"];

/** Whether a more important patch usually follows soon: the pod starts, or its sandbox is ready or has stopped. */
export function isProgress({ status: before = {}, metadata }: Pod, patch: StatusPatch): boolean {
  const { conditions = [], "$setElementOrder/conditions": _order, ...rest } = patch.status;
  if (!Array.isArray(conditions)) return false;
  const [condition, ...others]: Fields[] = conditions;
  const isSandboxOnly = condition?.type === readyToStart && others.length === 0;
  const has = (names: readonly string[]) => Object.keys(rest).every((name) => names.includes(name));
  if (isSandboxOnly && condition.status === "False" && has(addressFields)) return true;
  // A failure, or a container that runs, is more than progress.
  if (metadata.deletionTimestamp !== undefined || !has([...startFields, ...containerFields])) return false;
  const isPending = (before.phase ?? "Pending") === "Pending" && (rest.phase ?? "Pending") === "Pending";
  if (!isPending || !allWait(before) || !allWait(patch.status)) return false;
  if (!before.containerStatuses?.length && rest.containerStatuses) return true;
  const isReady = isSandboxOnly && condition.status === "True";
  return isReady && has([...addressFields, ...containerFields]);
}

/** No container was started, and each has a default waiting reason. */
function allWait(status: Fields | PodStatus): boolean {
  return containerFields.every((field) => {
    const statuses = (status[field] ?? []) as readonly ContainerStatus[];
    return statuses.every(
      ({ state, restartCount }) => defaultReasons.includes(state?.waiting?.reason) && restartCount === 0,
    );
  });
}
