import type { Lease } from "../../lib/gen/kubernetes/coordination.d.ts";
import type { RuntimeClass } from "../../lib/gen/kubernetes/node.d.ts";
import type { PriorityClass } from "../../lib/gen/kubernetes/scheduling.d.ts";
import { ageColumn, column, type Named, nameColumn, tableDefinition } from "./table-definition.ts";

export const leaseTable = tableDefinition<Lease & Named>([
  nameColumn,
  column("Holder", "The holder of the lease.", (o) => o.spec?.holderIdentity ?? ""),
  ageColumn,
]);

export const runtimeClassTable = tableDefinition<RuntimeClass & Named>([
  nameColumn,
  column("Handler", "The name of the handler in the container runtime.", (o) => o.handler ?? ""),
  ageColumn,
]);

export const priorityClassTable = tableDefinition<PriorityClass & Named>([
  nameColumn,
  column("Value", "The priority of its pods.", (o) => o.value ?? 0, { type: "integer" }),
  column("Global-Default", "Whether pods without a class get this one.", (o) => o.globalDefault ?? false, {
    type: "boolean",
  }),
  ageColumn,
  column("PreemptionPolicy", "Whether its pods may preempt others.", (o) => o.preemptionPolicy ?? ""),
]);
