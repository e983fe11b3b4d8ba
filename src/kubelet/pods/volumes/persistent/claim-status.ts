import { dateOf, type WallTime } from "../../../../lib/base/time.ts";
import type { Claim, ClaimCondition } from "./volume-api.ts";

const resizeConditions = new Set([
  "FileSystemResizePending",
  "Resizing",
  "ControllerResizeError",
  "NodeResizeError",
]);

/** With the version: whoever wrote in between makes it fail. */
export function markInProgress(claim: Claim): object {
  return versioned(claim, { allocatedResourceStatuses: { storage: "NodeResizeInProgress" } });
}

/** The new size is there: nothing is left to say about the resize. */
export function markFinished(claim: Claim, size: string): object {
  const isMarked = claim.status?.allocatedResourceStatuses?.storage !== undefined;
  return versioned(claim, {
    capacity: { storage: size },
    ...(isMarked && { allocatedResourceStatuses: { storage: null } }),
    ...conditionsPatch(claim, []),
  });
}

/** Tells what went wrong; `infeasible`: that it need not be tried again with this size. */
export function markFailed(claim: Claim, reason: string, infeasible: boolean, now: WallTime): object {
  const condition: ClaimCondition = {
    type: "NodeResizeError",
    status: "True",
    lastTransitionTime: dateOf(now)
      .toISOString()
      .replace(/\.\d+Z$/, "Z"),
    message: `failed to expand pvc with ${reason}`,
  };
  const isTold = claim.status?.conditions?.some(
    (known) => known.type === condition.type && known.status === condition.status,
  );
  return {
    status: {
      ...(infeasible && { allocatedResourceStatuses: { storage: "NodeResizeInfeasible" } }),
      ...(!isTold && { conditions: [condition] }),
    },
  };
}

/** Conditions are merged by type: those of resizes that are not to stay are taken out one by one. */
function conditionsPatch(claim: Claim, wanted: readonly ClaimCondition[]): object {
  const gone = (claim.status?.conditions ?? []).filter(
    ({ type }) => resizeConditions.has(type) && !wanted.some((condition) => condition.type === type),
  );
  if (gone.length === 0 && wanted.length === 0) return {};
  return { conditions: [...wanted, ...gone.map(({ type }) => ({ $patch: "delete", type }))] };
}

function versioned(claim: Claim, status: object): object {
  return { metadata: { resourceVersion: claim.metadata.resourceVersion }, status };
}
