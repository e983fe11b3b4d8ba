import { compareQuantities } from "../../../../lib/model/quantity.ts";
import type { Claim } from "./volume-api.ts";

/** Set if the expansion on the controller was sufficient. */
const notRequired = "volume.kubernetes.io/node-expansion-not-required";

export type ExpansionPlan =
  /** Nothing to do on this node. */
  | { readonly kind: "none" }
  | {
      readonly kind: "expand";
      readonly size: string;
      /** The resizer supports recovery from failures, and the node updates the claim's status. */
      readonly recovers: boolean;
      /** Another node has expanded the volume and reported it; this node expands it, too. */
      readonly isReported: boolean;
    };

/** The expansion that a claim and the size of its volume require of this node. */
export function planExpansion(claim: Claim, volumeSize: string | undefined): ExpansionPlan {
  const { capacity, allocatedResources, allocatedResourceStatuses } = claim.status ?? {};
  const current = capacity?.storage;
  if (volumeSize === undefined || current === undefined) return { kind: "none" };
  const status = allocatedResourceStatuses?.storage;
  if (status === undefined && allocatedResources === undefined) {
    // A resizer without recovery support: only the sizes are compared.
    if (compareQuantities(current, volumeSize) >= 0) return { kind: "none" };
    return { kind: "expand", size: volumeSize, recovers: false, isReported: false };
  }
  const size = allocatedResources?.storage;
  if (size === undefined) return { kind: "none" };
  const isReported = status === undefined && compareQuantities(current, size) >= 0;
  const isShared = claim.spec.accessModes?.includes("ReadWriteMany");
  if (isReported && isShared && claim.metadata.annotations?.[notRequired] === undefined)
    return { kind: "expand", size, recovers: true, isReported };
  if (status === "NodeResizePending" || status === "NodeResizeInProgress")
    return { kind: "expand", size, recovers: true, isReported };
  return { kind: "none" };
}
