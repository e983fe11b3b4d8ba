import { FieldSet } from "./field-set.ts";
import { isObject, type JsonObject, jsonEqual, withoutNulls } from "./json-value.ts";
import { allowedByLastApplied, withLastApplied } from "./last-applied.ts";
import {
  decodeManagers,
  type Manager,
  type Managers,
  managedFieldsOf,
  managerId,
  wireTime,
  withManagers,
} from "./managed-fields.ts";
import {
  afterChange,
  type Conflict,
  conflictsOf,
  ignoredSet,
  ignoring,
  ownable,
  skeletonFor,
} from "./ownership.ts";
import { PatchError } from "./patch-error.ts";
import { pathText } from "./path-element.ts";
import type { Rule } from "./rule.ts";
import { compareText } from "./text-order.ts";
import { type TrackOptions, updatedManagers } from "./track-update.ts";
import { compareObjects } from "./typed-compare.ts";
import { mergeApplied } from "./typed-merge.ts";
import { removePaths } from "./typed-remove.ts";
import { fieldSetOf, listErrors } from "./typed-set.ts";

export interface ApplyOptions extends TrackOptions {
  /** Take fields that others own instead of rejecting. */
  readonly force?: boolean;
}

/**
 * Server-side apply: the live object with the fields the manager sets now, without those that only it set before, and
 * with matching managedFields. `live` is undefined if there is none yet. Throws PatchError: Conflict with causes,
 * BadRequest.
 */
export function apply(live: JsonObject | undefined, applied: JsonObject, options: ApplyOptions): JsonObject {
  check(applied, options);
  const { schema, manager: name, force = false } = options;
  const none: Managers = new Map();
  const managers = managersOf(live, options);
  const old = withManagers({ ...skeletonFor(applied), ...live }, none);
  const ignored = ignoredSet(options.ignored);

  const identity = {
    name,
    operation: "Apply",
    apiVersion: schema.apiVersion,
    subresource: options.subresource ?? "",
  } as const;
  const id = managerId(identity);
  const last = managers.get(id);
  const fields = fieldSetOf(applied, schema.root).without(ignored);
  const self: Manager = { ...identity, time: last?.time, fields };
  const claimed = new Map(managers).set(id, self);

  const merged = mergeApplied(old, applied, schema.root);
  const result = pruned(merged, last?.fields ?? new FieldSet(), claimed, schema.root);
  const change = ignoring(compareObjects(old, result, schema.root), ignored);
  if (!force) {
    const conflicts = conflictsOf(change, claimed, id);
    const allowed = name === "kubectl" && live ? allowedByLastApplied(live, schema) : new FieldSet();
    const left = conflicts.filter(({ path }) => !allowed.has(path));
    if (left.length > 0) throw conflictError(left);
  }
  const object = withoutNulls(result);
  const out = afterChange(change, claimed, id);
  const time = live && jsonEqual(old, object) ? last?.time : wireTime(options.now);
  out.set(id, { ...self, time, fields: ownable(fields) });
  return withManagers(name === "kubectl" ? withLastApplied(object, applied) : object, out);
}

/** Fields from before the first apply belong to a manager of their own. */
function managersOf(live: JsonObject | undefined, options: ApplyOptions): Managers {
  if (!live) return new Map();
  let managers: Managers;
  try {
    managers = decodeManagers(managedFieldsOf(live));
  } catch (error) {
    throw new PatchError("BadRequest", `failed to decode managed fields: ${String(error)}`);
  }
  if (managers.size > 0) return managers;
  return updatedManagers(undefined, live, managers, {
    schema: options.schema,
    manager: "before-first-apply",
    now: options.now,
  });
}

function check(applied: JsonObject, { schema, manager }: ApplyOptions): void {
  if (manager === "")
    throw new PatchError(
      "Invalid",
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    );
  const { apiVersion, kind, metadata } = applied;
  if (apiVersion !== schema.apiVersion || kind !== schema.kind)
    throw new PatchError("BadRequest", `invalid object type: ${typeText(applied)}`);
  if (isObject(metadata) && (metadata.managedFields ?? null) !== null)
    throw new PatchError("BadRequest", "metadata.managedFields must be nil");
  const errors = listErrors(applied, schema.root);
  if (errors.length > 0) {
    const meta = isObject(metadata) ? metadata : {};
    const what = `${meta.namespace ?? ""}/${meta.name ?? ""}; ${typeText(applied)}`;
    const text = errors.length === 1 ? errors[0] : `errors:\n  ${errors.join("\n  ")}`;
    throw new PatchError("BadRequest", `failed to create typed patch object (${what}): ${text}`);
  }
}

function typeText({ apiVersion, kind }: JsonObject): string {
  const version = typeof apiVersion === "string" ? apiVersion : "";
  return `${version.includes("/") ? version : `/${version}`}, Kind=${typeof kind === "string" ? kind : ""}`;
}

/** The conflict error of an apply, with the message that kubectl users know. */
function conflictError(conflicts: readonly Conflict[]): PatchError {
  const causes = conflicts.map(({ manager, path }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${managerText(manager)}`,
    field: pathText(path),
  }));
  return new PatchError("Conflict", message(conflicts), causes);
}

function message(conflicts: readonly Conflict[]): string {
  const [first] = conflicts;
  if (first && conflicts.length === 1)
    return `Apply failed with 1 conflict: conflict with ${managerText(first.manager)}: ${pathText(first.path)}`;
  const byManager = Map.groupBy(conflicts, ({ manager }) => managerText(manager));
  const lines = [...byManager.keys()]
    .sort(compareText)
    .flatMap((manager) => [
      `conflicts with ${manager}:`,
      ...byManager.get(manager)!.map(({ path }) => `- ${pathText(path)}`),
    ]);
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join("\n")}`;
}

function managerText({ name, operation, apiVersion, subresource }: Manager): string {
  const which =
    JSON.stringify(name) + (subresource ? ` with subresource ${JSON.stringify(subresource)}` : "");
  return operation === "Update" ? `${which} using ${apiVersion}` : which;
}

/**
 * The merged object without the fields that an applier gave up: applied last time, not this time, and not owned by another
 * manager. `managers` has the applier with its new fields.
 */
function pruned(merged: JsonObject, last: FieldSet, managers: Managers, rule: Rule): JsonObject {
  if (last.empty) return merged;
  const named = (set: FieldSet) => set.withNamedFields(rule);
  const pathsOf = (object: JsonObject) => named(fieldSetOf(object, rule));
  const all = pathsOf(merged);
  const owned = FieldSet.unionOf([...managers.values()].map(({ fields }) => fields));

  // Removing an item removes all its fields. Those owned by other managers are restored, and those that never were the
  // applier's.
  const bare = pathsOf(removePaths(merged, named(last), rule));
  const withOwned = removePaths(merged, all.difference(bare.union(named(owned))), rule);
  return removePaths(merged, all.difference(pathsOf(withOwned)).intersection(named(last)), rule);
}
