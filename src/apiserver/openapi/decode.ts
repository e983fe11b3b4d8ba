import { canonicalQuantity } from "../../lib/model/quantity-form.ts";
import { type FieldType, type Scalar, underlying } from "../../lib/schema/field-type.ts";
import { kindType } from "../../lib/schema/packages.ts";
import { isObject, type Json, type JsonObject, setValue } from "../patch/json-value.ts";
import { canonicalTime } from "./time-text.ts";

/**
 * The object as Kubernetes decodes it: without unknown fields and nulls, with quantities and times in canonical form. For
 * objects that pass `checkFields`. Parts that do not change are shared with the argument.
 */
export function decoded<T>(group: string, version: string, kind: string, value: T): T {
  const type = kindType(group, version, kind);
  return type ? (canonicalize(type, value as Json) as T) : value;
}

function canonicalize(type: FieldType, value: Json): Json {
  const under = underlying(type);
  switch (under.kind) {
    case "scalar":
      return value === null ? value : canonicalScalar(under.scalar, value);
    case "list": {
      if (!Array.isArray(value)) return value;
      const items = value.map((item) => entry(under.items, item));
      return items.some((item, index) => item !== value[index]) ? items : value;
    }
    case "map":
      return isObject(value) ? fields(value, (_, item) => entry(under.values, item)) : value;
    case "struct": {
      if (!isObject(value)) return value;
      const known = under.fields;
      return fields(value, (name, item) => {
        const field = known.get(name);
        if (!field || item === null) return undefined;
        return canonicalize(field.type, item);
      });
    }
    default:
      return under satisfies never;
  }
}

/** A null in a map or list cannot be dropped: it becomes an empty value. */
function entry(type: FieldType, value: Json): Json {
  if (value !== null) return canonicalize(type, value);
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
