import { compareQuantities } from "../../../../lib/model/quantity.ts";
import type { Claim } from "./volume-api.ts";

/** Set by who knows that growing the volume elsewhere was enough. */
const notRequired = "volume.kubernetes.io/node-expansion-not-required";

export type ExpansionPlan =
  /** Nothing to do, or not ours to do now. */
  | { readonly kind: "none" }
  | {
      readonly kind: "expand";
      readonly size: string;
      /** The claim's status is kept: by resizers that can recover from a failure. */
      readonly recovers: boolean;
      /** Another node has grown it and has told so; this one follows. */
      readonly isTold: boolean;
    };

/** What a claim, and the size of its volume, ask of this node. */
export function planExpansion(claim: Claim, volumeSize: string | undefined): ExpansionPlan {
  const { capacity, allocatedResources, allocatedResourceStatuses } = claim.status ?? {};
  const current = capacity?.storage;
  if (volumeSize === undefined || current === undefined) return { kind: "none" };
  const status = allocatedResourceStatuses?.storage;
  if (status === undefined && allocatedResources === undefined) {
    // A resizer of former days: the sizes tell it all.
    if (compareQuantities(current, volumeSize) >= 0) return { kind: "none" };
    return { kind: "expand", size: volumeSize, recovers: false, isTold: false };
  }
  const size = allocatedResources?.storage;
  if (size === undefined) return { kind: "none" };
  const isTold = status === undefined && compareQuantities(current, size) >= 0;
  const isShared = claim.spec.accessModes?.includes("ReadWriteMany");
  if (isTold && isShared && claim.metadata.annotations?.[notRequired] === undefined)
    return { kind: "expand", size, recovers: true, isTold };
  if (status === "NodeResizePending" || status === "NodeResizeInProgress")
    return { kind: "expand", size, recovers: true, isTold };
  return { kind: "none" };
}
