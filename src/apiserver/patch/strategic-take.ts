import { isObject, type Json, type JsonObject, setValue } from "./json-value.ts";

/**
 * What remains of a patch value that is taken over as a whole: nulls and directives go, and with `$patch` the object that
 * has it. Undefined if nothing remains.
 */
export function withoutDirectives(value: Json): Json | undefined {
  if (Array.isArray(value))
    return value.map((item) => withoutDirectives(item)).filter((item) => item !== undefined);
  if (!isObject(value)) return value;
  if (Object.hasOwn(value, "$patch")) return undefined;
  const out: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    if (item === null || isDirective(key)) continue;
    const taken = withoutDirectives(item);
    if (taken !== undefined) setValue(out, key, taken);
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
