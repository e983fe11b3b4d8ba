import type { StructType } from "../../lib/schema/field-type.ts";
import type { Json } from "./json-value.ts";

/**
 * How a field is merged and owned.
 * - plain: an object is a struct without further rules, a list is one value, anything else is a value
 * - struct: an object whose fields are known by name
 * - map: an object with free keys (labels); each key is an entry of its own
 * - atomic: one value, regardless of its content. A strategic merge patch merges even an atomic object.
 * - list: entries found by their keys (keyed), by themselves (set), or none (atomic)
 */
export type Rule =
  | { readonly kind: "plain" }
  | { readonly kind: "struct"; readonly type: StructType }
  | { readonly kind: "map" }
  | { readonly kind: "atomic" }
  | ListRule;

export interface ListRule {
  readonly kind: "list";
  readonly list: "keyed" | "set" | "atomic";
  readonly keys: readonly string[];
  /** The default of an omitted key. */
  readonly defaults: Readonly<Record<string, Json>>;
  readonly items: Rule;
  /** How a strategic merge patch merges the list. Patches use one key only, even for lists with two. */
  readonly patch: { readonly strategy: "replace" } | { readonly strategy: "merge"; readonly key: string };
}

export const plain: Rule = { kind: "plain" };
export const map: Rule = { kind: "map" };
export const atomic: Rule = { kind: "atomic" };

export function struct(type: StructType): Rule {
  return { kind: "struct", type };
}
