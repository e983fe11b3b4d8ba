import type { Json } from "./json-value.ts";

/**
 * How a field is merged and owned.
 * - plain: an object is a struct without further rules, a list is one value, anything else is a value
 * - struct: an object whose fields are known by name
 * - map: an object with free keys (labels); each key is an entry of its own
 * - atomic: one value, whatever is inside. A strategic merge patch merges an atomic object all the same.
 * - list: entries found by their keys (keyed), by themselves (set), or none (atomic)
 */
export type Rule =
  | { readonly kind: "plain" }
  | { readonly kind: "struct"; readonly type: string }
  | { readonly kind: "map" }
  | { readonly kind: "atomic" }
  | ListRule;

export interface ListRule {
  readonly kind: "list";
  readonly list: "keyed" | "set" | "atomic";
  readonly keys: readonly string[];
  /** What a key that is left out stands for. */
  readonly defaults: Readonly<Record<string, Json>>;
  readonly items: Rule;
  /** What a strategic merge patch does with the list. Patches know one key only, even where there are two. */
  readonly patch: { readonly strategy: "replace" } | { readonly strategy: "merge"; readonly key: string };
}

export const plain: Rule = { kind: "plain" };
export const map: Rule = { kind: "map" };
export const atomic: Rule = { kind: "atomic" };

export function struct(type: string): Rule {
  return { kind: "struct", type };
}

/** `retainKeys` tells clients to send `$retainKeys`; the server obeys that wherever it comes. */
export interface KeyedOptions {
  readonly type?: string;
  readonly atomicItems?: boolean;
  readonly defaults?: Readonly<Record<string, Json>>;
  readonly retainKeys?: boolean;
  readonly patch?: "replace";
}

export function keyed(keys: readonly [string, ...string[]], options: KeyedOptions = {}): Rule {
  return {
    kind: "list",
    list: "keyed",
    keys,
    defaults: options.defaults ?? {},
    items: options.type ? struct(options.type) : options.atomicItems ? atomic : plain,
    patch: options.patch ? { strategy: "replace" } : { strategy: "merge", key: keys[0] },
  };
}

const noKeys = { keys: [], defaults: {}, items: plain } as const;

/** Values that are found by themselves; patches add to it. */
export const set: Rule = { kind: "list", list: "set", ...noKeys, patch: { strategy: "merge", key: "" } };

/** The same, but a patch replaces it. */
export const replacedSet: Rule = { kind: "list", list: "set", ...noKeys, patch: { strategy: "replace" } };

/** One value to its owners, yet merged by patches. */
export function mergedByPatch(key: string): Rule {
  return { kind: "list", list: "atomic", ...noKeys, patch: { strategy: "merge", key } };
}
