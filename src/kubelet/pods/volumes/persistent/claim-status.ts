import { dateOf, type WallTime } from "../../../../lib/base/time.ts";
import type { Claim, ClaimCondition } from "./volume-api.ts";

const resizeConditions = new Set([
  "FileSystemResizePending",
  "Resizing",
  "ControllerResizeError",
  "NodeResizeError",
]);

/** The patch contains the resourceVersion, so that it fails after a concurrent write. */
export function markInProgress(claim: Claim): object {
  return versioned(claim, { allocatedResourceStatuses: { storage: "NodeResizeInProgress" } });
}

/** The resize is done: its conditions and its status are removed. */
export function markFinished(claim: Claim, size: string): object {
  const isMarked = claim.status?.allocatedResourceStatuses?.storage !== undefined;
  return versioned(claim, {
    capacity: { storage: size },
    ...(isMarked && { allocatedResourceStatuses: { storage: null } }),
    ...conditionsPatch(claim, []),
  });
}

/** Reports the error; `infeasible`: retries with this size are useless. */
export function markFailed(claim: Claim, reason: string, infeasible: boolean, now: WallTime): object {
  const condition: ClaimCondition = {
    type: "NodeResizeError",
    status: "True",
    lastTransitionTime: dateOf(now)
      .toISOString()
      .replace(/\.\d+Z$/, "Z"),
    message: `failed to expand pvc with ${reason}`,
  };
  const isReported = claim.status?.conditions?.some(
    (known) => known.type === condition.type && known.status === condition.status,
  );
  return {
    status: {
      ...(infeasible && { allocatedResourceStatuses: { storage: "NodeResizeInfeasible" } }),
      ...(!isReported && { conditions: [condition] }),
    },
  };
}

/** Conditions are merged by type: stale resize conditions have to be deleted one by one. */
function conditionsPatch(claim: Claim, desired: readonly ClaimCondition[]): object {
  const stale = (claim.status?.conditions ?? []).filter(
    ({ type }) => resizeConditions.has(type) && !desired.some((condition) => condition.type === type),
  );
  if (stale.length === 0 && desired.length === 0) return {};
  return { conditions: [...desired, ...stale.map(({ type }) => ({ $patch: "delete", type }))] };
}

function versioned(claim: Claim, status: object): object {
  return { metadata: { resourceVersion: claim.metadata.resourceVersion }, status };
}
