import { isObject, type Json, type JsonObject, setValue } from "./json-value.ts";

/**
 * A patch value without nulls and directives, for fields that the original lacks. An object with `$patch` is dropped,
 * too. Undefined if nothing remains.
 */
export function withoutDirectives(value: Json): Json | undefined {
  if (Array.isArray(value))
    return value.map((item) => withoutDirectives(item)).filter((item) => item !== undefined);
  if (!isObject(value)) return value;
  if (Object.hasOwn(value, "$patch")) return undefined;
  const out: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    if (item === null || isDirective(key)) continue;
    const cleaned = withoutDirectives(item);
    if (cleaned !== undefined) setValue(out, key, cleaned);
  }
  return out;
}

function isDirective(key: string): boolean {
  return (
    key === "$retainKeys" ||
    key.startsWith("$setElementOrder/") ||
    key.startsWith("$deleteFromPrimitiveList/")
  );
}
