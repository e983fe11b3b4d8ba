export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

/** True for an object that is neither a list nor null. */
export function isObject(value: Json | undefined): value is JsonObject;
export function isObject(value: unknown): value is Record<string, unknown>;
export function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The own value of a key: names such as "constructor" come from users and must find nothing. */
export function ownValue(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Whether two values have the same JSON, in any order of fields. A field without a value is the same as none. Allocates nothing. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!sameJson(a[i], b[i])) return false;
    return true;
  }
  return hasFieldsOf(a, b) && hasFieldsOf(b, a, true);
}

/** Whether all fields of `b` are in `a`, with the same values unless only their presence is checked. */
function hasFieldsOf(a: object, b: object, presenceOnly = false): boolean {
  for (const field in b) {
    const expected = (b as Record<string, unknown>)[field];
    if (expected === undefined) continue;
    if (!Object.hasOwn(a, field)) return false;
    const value = (a as Record<string, unknown>)[field];
    if (presenceOnly ? value === undefined : !sameJson(value, expected)) return false;
  }
  return true;
}

/** Objects of the API are not nested deeply, and functions that walk them recurse. */
const maxDepth = 500;

export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return true;
    level = level.flatMap((item) => (item !== null && typeof item === "object" ? Object.values(item) : []));
  }
  return false;
}
