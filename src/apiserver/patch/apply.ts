import { conflictError } from "./apply-conflict.ts";
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
import { afterChange, conflictsOf, ignoredSet, ignoring, ownable, skeletonFor } from "./ownership.ts";
import { PatchError } from "./patch-error.ts";
import { pruned } from "./prune.ts";
import { type TrackOptions, updatedManagers } from "./track-update.ts";
import { compareObjects } from "./typed-compare.ts";
import { mergeApplied } from "./typed-merge.ts";
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
