import type { StructType } from "./field-type.ts";

/** The lists of a struct whose items a strategic merge patch merges, with the key of an item. */
export function mergeKeys(type: StructType): Record<string, string> {
  return Object.fromEntries(
    [...type.fields.values()].flatMap(({ name, mergeKey }) => (mergeKey ? [[name, mergeKey]] : [])),
  );
}
