import { canonicalQuantity } from "../../lib/model/quantity-form.ts";
import { type FieldType, type Scalar, underlying } from "../../lib/schema/field-type.ts";
import { kindType } from "../../lib/schema/packages.ts";
import { isObject, type Json, type JsonObject, setValue } from "../patch/json-value.ts";
import { canonicalTime } from "./time-text.ts";

/** The object without the fields that its kind does not have; the very same if there are none. */
export function pruneUnknown<T>(group: string, version: string, kind: string, value: T): T {
  return reshaped(group, version, kind, value, { nulls: "kept", scalar: (_, given) => given });
}

/**
 * The object as Kubernetes would have it after reading: without unknown fields and nulls, quantities and times in their
 * one spelling. For objects that `checkFields` finds nothing wrong with. Parts that need no change are shared.
 */
export function decoded<T>(group: string, version: string, kind: string, value: T): T {
  return reshaped(group, version, kind, value, { nulls: "dropped", scalar: canonicalScalar });
}

interface Shaping {
  readonly nulls: "kept" | "dropped";
  scalar(type: Scalar, value: Json): Json;
}

function reshaped<T>(group: string, version: string, kind: string, value: T, shaping: Shaping): T {
  const type = kindType(group, version, kind);
  return type ? (reshape(type, value as Json, shaping) as T) : value;
}

function reshape(type: FieldType, value: Json, shaping: Shaping): Json {
  const under = underlying(type);
  switch (under.kind) {
    case "scalar":
      return value === null ? value : shaping.scalar(under.scalar, value);
    case "list": {
      if (!Array.isArray(value)) return value;
      const items = value.map((item) => entry(under.items, item, shaping));
      return items.some((item, index) => item !== value[index]) ? items : value;
    }
    case "map":
      return isObject(value) ? fields(value, (_, item) => entry(under.values, item, shaping)) : value;
    case "struct": {
      if (!isObject(value)) return value;
      const known = under.fields;
      return fields(value, (name, item) => {
        const field = known.get(name);
        if (!field || (item === null && shaping.nulls === "dropped")) return undefined;
        return reshape(field.type, item, shaping);
      });
    }
    default:
      return under satisfies never;
  }
}

/** A null among the values of a map or list cannot be left out: it is read as an empty value. */
function entry(type: FieldType, value: Json, shaping: Shaping): Json {
  if (value !== null || shaping.nulls === "kept") return reshape(type, value, shaping);
  const under = underlying(type);
  if (under.kind === "struct") return {};
  if (under.kind !== "scalar") return null;
  if (under.scalar === "bool") return false;
  if (under.scalar === "quantity") return "0";
  return under.scalar.startsWith("int") || under.scalar === "float64" ? 0 : "";
}

function fields(value: JsonObject, change: (name: string, item: Json) => Json | undefined): JsonObject {
  const out: JsonObject = {};
  let same = true;
  for (const [name, item] of Object.entries(value)) {
    const changed = change(name, item);
    if (changed !== item) same = false;
    if (changed !== undefined) setValue(out, name, changed);
  }
  return same ? value : out;
}

function canonicalScalar(type: Scalar, value: Json): Json {
  if (type === "quantity" && (typeof value === "string" || typeof value === "number"))
    return canonicalQuantity(typeof value === "string" ? value.trim() : value) ?? value;
  if ((type === "time" || type === "microtime") && typeof value === "string")
    return canonicalTime(value, type);
  return value;
}
