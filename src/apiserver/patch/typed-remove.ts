import type { FieldSet } from "./field-set.ts";
import { type Json, type JsonObject, setValue } from "./json-value.ts";
import { fieldElement, itemElement } from "./path-element.ts";
import type { Rule } from "./rule.ts";
import { fieldRule } from "./schema.ts";
import { pairOf } from "./typed-walk.ts";

/** The object without the paths of the set. Parents that become empty are removed, too. */
export function removePaths(object: JsonObject, paths: FieldSet, rule: Rule): JsonObject {
  return (remaining(object, paths, rule) ?? {}) as JsonObject;
}

function remaining(value: Json, paths: FieldSet, rule: Rule): Json | undefined {
  const pair = pairOf(rule, value, undefined);
  if (pair.kind === "leaf") return value;
  if (pair.kind === "object") {
    const out: JsonObject = {};
    for (const [key, item] of Object.entries(pair.left)) {
      const rest = remainingItem(item, fieldElement(key), paths, fieldRule(rule, key));
      if (rest !== undefined) setValue(out, key, rest);
    }
    return Object.keys(out).length > 0 ? out : undefined;
  }
  const items = pair.left.flatMap((item) => {
    const found = itemElement(pair.rule, item);
    const rest = "element" in found ? remainingItem(item, found.element, paths, pair.rule.items) : item;
    return rest === undefined ? [] : [rest];
  });
  return items.length > 0 ? items : undefined;
}

function remainingItem(value: Json, element: string, paths: FieldSet, rule: Rule): Json | undefined {
  if (paths.members.has(element)) return undefined;
  const below = paths.children.get(element);
  return below && !below.empty ? remaining(value, below, rule) : value;
}
