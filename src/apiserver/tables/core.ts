import type { ConfigMap, Namespace, Secret } from "../../lib/gen/kubernetes/core.d.ts";
import { ageColumn, column, type Named, nameColumn, tableDefinition } from "./table-definition.ts";

const count = (map: object | null | undefined) => Object.keys(map ?? {}).length;

export const namespaceTable = tableDefinition<Namespace & Named>([
  nameColumn,
  column("Status", "Active, or Terminating while it is being emptied.", (o) => o.status?.phase ?? ""),
  ageColumn,
]);

export const configMapTable = tableDefinition<ConfigMap & Named>([
  nameColumn,
  column("Data", "The number of entries.", (o) => count(o.data) + count(o.binaryData)),
  ageColumn,
]);

export const secretTable = tableDefinition<Secret & Named>([
  nameColumn,
  column("Type", "The type of the secret.", (o) => o.type ?? ""),
  column("Data", "The number of entries.", (o) => count(o.data)),
  ageColumn,
]);

export const serviceAccountTable = tableDefinition<Named>([nameColumn, ageColumn]);
