import { FieldSet } from "./field-set.ts";
import { isObject, type Json, type JsonObject } from "./json-value.ts";
import { elementText, fieldElement, itemElement, type PathElement } from "./path-element.ts";
import type { Rule } from "./rule.ts";
import { fieldRule } from "./schema.ts";
import { itemsByElement, pairOf } from "./typed-walk.ts";

/** The paths that an object sets: its leaves, the entries of its maps and lists, and its empty objects. */
export function fieldSetOf(object: JsonObject, rule: Rule): FieldSet {
  const set = new FieldSet();
  for (const [key, value] of Object.entries(object)) collect(set, key, value, rule);
  return set;
}

function collect(parent: FieldSet, key: string, value: Json, parentRule: Rule): void {
  const element = fieldElement(key);
  descend(parent, element, value, fieldRule(parentRule, key));
  if (parentRule.kind === "map") parent.members.add(element);
}

function descend(parent: FieldSet, element: PathElement, value: Json, rule: Rule): void {
  const pair = pairOf(rule, value, undefined);
  if (pair.kind === "leaf") {
    // An empty associative list does not affect any item.
    if (!(rule.kind === "list" && rule.list !== "atomic" && Array.isArray(value)))
      parent.members.add(element);
    return;
  }
  const set = new FieldSet();
  if (pair.kind === "object")
    for (const [key, item] of Object.entries(pair.left)) collect(set, key, item, rule);
  else
    for (const [item, same] of itemsByElement(pair.rule, pair.left)) {
      set.members.add(item);
      if (same.length === 1 && isObject(same[0]) && pair.rule.items.kind !== "atomic")
        descend(set, item, same[0], pair.rule.items);
    }
  if (!set.empty) parent.children.set(element, set);
}

/** Errors that prevent the merge of an applied object: items that cannot be distinguished. */
export function listErrors(value: Json, rule: Rule, path = ""): string[] {
  const pair = pairOf(rule, value, undefined);
  if (pair.kind === "leaf") return [];
  if (pair.kind === "object")
    return Object.entries(pair.left).flatMap(([key, item]) =>
      listErrors(item, fieldRule(rule, key), `${path}.${key}`),
    );
  const seen = new Set<PathElement>();
  return pair.left.flatMap((item, i) => {
    const found = itemElement(pair.rule, item);
    if ("error" in found) return [`${path}: element ${i}: ${found.error}`];
    const text = elementText(found.element);
    if (seen.has(found.element)) return [`${path}: duplicate entries for key ${text}`];
    seen.add(found.element);
    return listErrors(item, pair.rule.items, path + text);
  });
}
