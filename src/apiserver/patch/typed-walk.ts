import { isObject, type Json, type JsonObject } from "./json-value.ts";
import { itemElement, type PathElement } from "./path-element.ts";
import type { ListRule, Rule } from "./rule.ts";

/** How two values of a field are walked; either may be missing. */
export type Pair =
  | { readonly kind: "leaf" }
  | { readonly kind: "object"; readonly left: JsonObject; readonly right: JsonObject }
  | { readonly kind: "list"; readonly rule: ListRule; readonly left: Json[]; readonly right: Json[] };

const leaf: Pair = { kind: "leaf" };

/** Null matches any type. Two empty values are a leaf, so that {} and a missing field remain different. */
export function pairOf(rule: Rule, left: Json | undefined, right: Json | undefined): Pair {
  if (rule.kind === "atomic") return leaf;
  if (rule.kind === "list") {
    if (rule.list === "atomic") return leaf;
    const [l, r] = [left ?? [], right ?? []];
    if (!Array.isArray(l) || !Array.isArray(r) || l.length + r.length === 0) return leaf;
    return { kind: "list", rule, left: l, right: r };
  }
  const [l, r] = [left ?? {}, right ?? {}];
  if (!isObject(l) || !isObject(r)) return leaf;
  if (Object.keys(l).length + Object.keys(r).length === 0) return leaf;
  return { kind: "object", left: l, right: r };
}

/** The items of a list by their path elements; more than one where keys are repeated. Items without keys are omitted. */
export function itemsByElement(rule: ListRule, list: Json[]): Map<PathElement, Json[]> {
  const out = new Map<PathElement, Json[]>();
  for (const item of list) {
    const found = itemElement(rule, item);
    if ("error" in found) continue;
    const same = out.get(found.element);
    if (same) same.push(item);
    else out.set(found.element, [item]);
  }
  return out;
}

export function allKeys(left: JsonObject, right: JsonObject): Set<string> {
  return new Set([...Object.keys(left), ...Object.keys(right)]);
}
