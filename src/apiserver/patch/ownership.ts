import { FieldSet, type Path } from "./field-set.ts";
import { isObject, type JsonObject } from "./json-value.ts";
import type { Manager, ManagerId, Managers } from "./managed-fields.ts";
import type { Comparison } from "./typed-compare.ts";

export interface Conflict {
  readonly manager: Manager;
  readonly path: Path;
}

/** Fields that other managers own and that this change would set to other values. */
export function conflictsOf(change: Comparison, managers: Managers, self: ManagerId | undefined): Conflict[] {
  const touched = change.modified.union(change.added);
  return [...managers].flatMap(([id, manager]) =>
    id === self ? [] : [...manager.fields.intersection(touched).paths()].map((path) => ({ manager, path })),
  );
}

/** The managers after a forced change: all other managers lose its fields. */
export function afterChange(
  change: Comparison,
  managers: Managers,
  self: ManagerId | undefined,
): Map<ManagerId, Manager> {
  const lost = change.modified.union(change.added).union(change.removed);
  const out = new Map<ManagerId, Manager>();
  for (const [id, manager] of managers) {
    const fields = id === self ? manager.fields : manager.fields.difference(lost);
    if (!fields.empty) out.set(id, { ...manager, fields });
  }
  return out;
}

/** Fields set by the server and fields that identify the object have no owner. */
const unowned = FieldSet.of(
  ["f:apiVersion"],
  ["f:kind"],
  ["f:metadata"],
  ...[
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
  ].map((field) => ["f:metadata", `f:${field}`]),
);

export function ownable(fields: FieldSet): FieldSet {
  return fields.difference(unowned);
}

/** Fields that the endpoint does not write (status on the main one): dropped from the change with all below. */
export function ignoring(change: Comparison, ignored: FieldSet): Comparison {
  return {
    added: change.added.without(ignored),
    modified: change.modified.without(ignored),
    removed: change.removed.without(ignored),
  };
}

export function ignoredSet(paths: readonly (readonly string[])[] = []): FieldSet {
  return FieldSet.of(...paths.map((path) => path.map((field) => `f:${field}`)));
}

/**
 * Objects with the parts that every object has, all of them empty, so that the owner of a new object does not own them. (Even an empty pod
 * has a list of containers.)
 */
export function skeletonFor(object: JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const field of ["metadata", "spec", "status", "source"]) if (isObject(object[field])) out[field] = {};
  if (isObject(object.spec) && object.spec.containers !== undefined) out.spec = { containers: null };
  return out;
}
