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

/** Which paths differ between two objects. An object or item that is new or gone is named itself, with all in it. */
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
    const before = itemsByElement(pair.rule, pair.left);
    const after = itemsByElement(pair.rule, pair.right);
    for (const element of new Set([...before.keys(), ...after.keys()]))
      walkItems(
        before.get(element) ?? [],
        after.get(element) ?? [],
        pair.rule.items,
        [...path, element],
        out,
      );
  }
}

/** Items with the same keys cannot be distinguished, so they count as one value. */
function walkItems(before: Json[], after: Json[], rule: Rule, path: Path, out: Comparison): void {
  if (before.length < 2 && after.length < 2) return walk(before[0], after[0], rule, path, out);
  if (before.length > 1 && after.length > 1) {
    if (!jsonEqual(before, after)) out.modified.insert(path);
  } else if (before.length > 1) {
    if (after.length > 0) walk(undefined, after[0], rule, path, out);
    out.removed.insert(path);
  } else {
    if (before.length > 0) walk(before[0], undefined, rule, path, out);
    out.added.insert(path);
  }
}
