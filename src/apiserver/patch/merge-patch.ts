import { isObject, type Json, type JsonObject, ownValue, setValue } from "./json-value.ts";
import { PatchError } from "./patch-error.ts";

/** JSON Merge Patch (RFC 7386): null removes, objects merge, everything else replaces. Inputs are not modified. */
export function mergePatch(original: JsonObject, patch: Json): JsonObject {
  if (!isObject(patch)) throw new PatchError("BadRequest", "Invalid JSON Patch");
  return merged(original, patch);
}

function merged(target: Json | undefined, patch: JsonObject): JsonObject {
  const out: JsonObject = {};
  if (isObject(target)) for (const [key, value] of Object.entries(target)) setValue(out, key, value);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete out[key];
    else setValue(out, key, isObject(value) ? merged(ownValue(out, key), value) : value);
  }
  return out;
}
