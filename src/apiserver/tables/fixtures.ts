import type { ApiObject } from "../storage/object.ts";
import { type TableOptions, tableOf } from "./table-of.ts";

/** For tests: it is noon, and all objects were created five minutes and ten seconds ago. */
export const noon = Date.UTC(2026, 0, 1, 12);
export const secondsBeforeNoon = (seconds: number) => new Date(noon - seconds * 1000).toISOString();

export function anObject(fields: Record<string, unknown> = {}, metadata: Record<string, unknown> = {}) {
  const object = {
    metadata: { name: "a", uid: "u", creationTimestamp: secondsBeforeNoon(310), ...metadata },
    ...fields,
  };
  return object as ApiObject;
}

const defaults: TableOptions = { now: noon, includeObject: "None", withHeaders: true };

/** The table of a resource ("pods", "leases.coordination.k8s.io"). */
export function table(resource: string, objects: ApiObject[], options: Partial<TableOptions> = {}) {
  const [name = "", ...group] = resource.split(".");
  const definition = { group: group.join("."), version: "v1", kind: "", name };
  return tableOf(definition, objects, { ...defaults, ...options });
}

/** One object as its cells, by header. */
export function shown(resource: string, object: ApiObject): Record<string, unknown> {
  const { columnDefinitions, rows } = table(resource, [object]);
  const cells = rows[0]?.cells ?? [];
  return Object.fromEntries((columnDefinitions ?? []).map((column, i) => [column.name, cells[i]]));
}
