import { FieldSet } from "./field-set.ts";
import type { JsonObject } from "./json-value.ts";
import type { Managers } from "./managed-fields.ts";
import type { Rule } from "./rule.ts";
import { removePaths } from "./typed-remove.ts";
import { fieldSetOf } from "./typed-set.ts";

/**
 * The merged object without the fields that an applier gave up: applied last time, not this time, and not owned by another
 * manager. `managers` has the applier with its new fields.
 */
export function pruned(merged: JsonObject, last: FieldSet, managers: Managers, rule: Rule): JsonObject {
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
