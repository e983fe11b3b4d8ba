import { FieldSet } from "./field-set.ts";
import { isObject, type Json, type JsonObject } from "./json-value.ts";
import {
  byAge,
  decodeManagers,
  type Manager,
  type ManagerId,
  type Managers,
  managedFieldsOf,
  managerId,
  wireTime,
  withManagers,
} from "./managed-fields.ts";
import { afterChange, ignoredSet, ignoring, ownable, skeletonFor } from "./ownership.ts";
import type { Schema } from "./schema.ts";
import { compareObjects } from "./typed-compare.ts";

export interface TrackOptions {
  readonly schema: Schema;
  /** The fieldManager of the request, or the product name of its user agent. */
  readonly manager: string;
  readonly subresource?: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Fields that this endpoint does not write, such as [["status"]]. */
  readonly ignored?: readonly (readonly string[])[];
}

const maxUpdaters = 10;

/**
 * Updates managedFields after a create (`oldObject` is undefined), update or patch: the manager owns the changed
 * fields. Never fails: managedFields that cannot be decoded are dropped.
 */
export function trackUpdate(
  oldObject: JsonObject | undefined,
  newObject: JsonObject,
  options: TrackOptions,
): JsonObject {
  const managers = managersFor(oldObject, newObject, options.subresource ?? "");
  // An object without recorded managers remains so until it is applied for the first time.
  if (managers.size === 0 && oldObject) return withManagers(newObject, managers);
  return withManagers(newObject, updatedManagers(oldObject, newObject, managers, options));
}

export function updatedManagers(
  oldObject: JsonObject | undefined,
  newObject: JsonObject,
  managers: Managers,
  options: TrackOptions,
): Managers {
  const { schema } = options;
  const none: Managers = new Map();
  const old = withManagers({ ...skeletonFor(newObject), ...oldObject }, none);
  const compared = compareObjects(old, withManagers(newObject, none), schema.root);
  const change = ignoring(compared, ignoredSet(options.ignored));
  const out = afterChange(change, managers, undefined);
  const taken = ownable(change.added.union(change.modified));
  if (!taken.empty) {
    const identity = {
      name: options.manager || "unknown",
      operation: "Update",
      apiVersion: schema.apiVersion,
      subresource: options.subresource ?? "",
    } as const;
    const id = managerId(identity);
    const fields = taken.union(out.get(id)?.fields ?? new FieldSet());
    out.set(id, { ...identity, time: wireTime(options.now), fields });
  }
  return capped(out);
}

/** A client may rewrite or clear managedFields; if they are absent, they are kept. Subresources cannot change them. */
function managersFor(
  oldObject: JsonObject | undefined,
  newObject: JsonObject,
  subresource: string,
): Managers {
  const given = managedFieldsOf(newObject);
  if (subresource === "") {
    if (isReset(given)) return new Map();
    const managers = decodedOrNone(given);
    if (managers.size > 0) return managers;
  }
  return decodedOrNone(managedFieldsOf(oldObject));
}

function isReset(list: Json | undefined): boolean {
  if (!Array.isArray(list)) return false;
  return list.length === 0 || (list.length === 1 && isObject(list[0]) && Object.keys(list[0]).length === 0);
}

function decodedOrNone(list: Json | undefined): Managers {
  try {
    return decodeManagers(list);
  } catch {
    return new Map();
  }
}

/**
 * If there are too many updaters, the oldest are merged into one entry, so that the object does not grow without bound.
 */
function capped(managers: Map<ManagerId, Manager>): Managers {
  const updaters = [...managers].filter(([, manager]) => manager.operation === "Update");
  const surplus = updaters.length - maxUpdaters;
  if (surplus <= 0) return managers;
  updaters.sort(([, left], [, right]) => byAge(left, right));
  const out = new Map(managers);
  const merged = updaters.slice(0, surplus + 1);
  for (const [id] of merged) out.delete(id);
  const buckets = Map.groupBy(
    merged.map(([, manager]) => ({ ...manager, name: "ancient-changes", subresource: "" })),
    managerId,
  );
  for (const [id, bucket] of buckets) {
    const kept = out.get(id);
    const fields = FieldSet.unionOf([...(kept ? [kept] : []), ...bucket].map((manager) => manager.fields));
    out.set(id, { ...bucket.at(-1)!, fields });
  }
  return out;
}
