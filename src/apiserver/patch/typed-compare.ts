import { FieldSet, type Path } from "./field-set.ts";
import { type Json, type JsonObject, jsonEqual, ownValue } from "./json-value.ts";
import { fieldElement } from "./path-element.ts";
import type { Rule } from "./rule.ts";
import { fieldRule } from "./schema.ts";
import { allKeys, itemsByElement, pairOf } from "./typed-walk.ts";

export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** The paths that differ between two objects. An added or removed object or item is included with all its fields. */
export function compareObjects(left: JsonObject, right: JsonObject, rule: Rule): Comparison {
  const out = { added: new FieldSet(), modified: new FieldSet(), removed: new FieldSet() };
  walk(left, right, rule, [], out);
  return out;
}

function walk(
  left: Json | undefined,
  right: Json | undefined,
  rule: Rule,
  path: Path,
  out: Comparison,
): void {
  const pair = pairOf(rule, left, right);
  if (left === undefined) out.added.insert(path);
  else if (right === undefined) out.removed.insert(path);
  else if (pair.kind === "leaf" && !jsonEqual(left, right)) out.modified.insert(path);
  if (pair.kind === "object") {
    for (const key of allKeys(pair.left, pair.right)) {
      const below = [...path, fieldElement(key)];
      walk(ownValue(pair.left, key), ownValue(pair.right, key), fieldRule(rule, key), below, out);
    }
  } else if (pair.kind === "list") {
    const oldItems = itemsByElement(pair.rule, pair.left);
    const newItems = itemsByElement(pair.rule, pair.right);
    for (const element of new Set([...oldItems.keys(), ...newItems.keys()]))
      walkItems(
        oldItems.get(element) ?? [],
        newItems.get(element) ?? [],
        pair.rule.items,
        [...path, element],
        out,
      );
  }
}

/** Items with the same keys cannot be distinguished, so they count as one value. */
function walkItems(oldItems: Json[], newItems: Json[], rule: Rule, path: Path, out: Comparison): void {
  if (oldItems.length < 2 && newItems.length < 2) return walk(oldItems[0], newItems[0], rule, path, out);
  if (oldItems.length > 1 && newItems.length > 1) {
    if (!jsonEqual(oldItems, newItems)) out.modified.insert(path);
  } else if (oldItems.length > 1) {
    if (newItems.length > 0) walk(undefined, newItems[0], rule, path, out);
    out.removed.insert(path);
  } else {
    if (oldItems.length > 0) walk(oldItems[0], undefined, rule, path, out);
    out.added.insert(path);
  }
}
