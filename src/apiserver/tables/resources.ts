import type { ResourceClaim, ResourceSlice } from "../../lib/gen/kubernetes/resource.d.ts";
import { ageColumn, column, type Named, nameColumn, tableDefinition } from "./table-definition.ts";

export const resourceClaimTable = tableDefinition<ResourceClaim & Named>([
  nameColumn,
  column("State", "A summary of the current state (allocated, pending, reserved, etc.).", stateOf),
  ageColumn,
]);

export const resourceSliceTable = tableDefinition<ResourceSlice & Named>([
  nameColumn,
  column("Node", "The node whose devices it lists.", (o) => o.spec.nodeName ?? ""),
  column("Driver", "The driver of the devices.", (o) => o.spec.driver),
  column("Pool", "The pool of the devices.", (o) => o.spec.pool.name),
  ageColumn,
]);

function stateOf({ metadata, status }: ResourceClaim & Named): string {
  const states = [
    ...(metadata.deletionTimestamp === undefined ? [] : ["deleted"]),
    ...(status?.allocation ? ["allocated"] : metadata.deletionTimestamp === undefined ? ["pending"] : []),
    ...(status?.reservedFor?.length ? ["reserved"] : []),
  ];
  return states.join(",");
}
