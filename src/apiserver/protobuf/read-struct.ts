import { type Field, type FieldType, type StructType, underlying } from "../../lib/schema/field-type.ts";
import { isObject, type Json, type JsonObject, ownValue, setValue } from "../patch/json-value.ts";
import { bytesOf, integerValue, scalarValue } from "./scalars.ts";
import { packedVarints, WireError, type WireField, wireFields } from "./wire-reader.ts";

/**
 * Adds the contents of a message to an object: a field that is sent twice is merged, as in all protobuf decoders. No type contains
 * itself, so the recursion terminates.
 */
export function readStruct(out: JsonObject, type: StructType, message: Buffer): void {
  for (const field of wireFields(message)) {
    const member = type.members.get(field.number);
    // Unknown fields of newer clients are dropped, as in JSON.
    if (member?.kind === "embedded") readStruct(out, member.struct, bytesOf(field));
    else if (member) readField(out, member, field);
  }
}

function readField(out: JsonObject, declared: Field, field: WireField): void {
  const { name } = declared;
  const type = underlying(declared.type);
  switch (type.kind) {
    case "list": {
      const earlier = ownValue(out, name);
      const list = Array.isArray(earlier) ? earlier : [];
      if (list !== earlier) setValue(out, name, list);
      return readItem(list, type.items, field);
    }
    case "map": {
      const map = objectAt(out, name);
      return readEntry(map, type.values, bytesOf(field));
    }
    case "struct":
      return readStruct(objectAt(out, name), type, bytesOf(field));
    case "scalar": {
      const value = scalarValue(type.scalar, field);
      // Fields that cannot be absent are always sent: empty values are dropped, unless JSON has them, too.
      const empty = value === "" || value === 0 || value === false;
      const isMeaningful = !empty || declared.pointer || declared.kept || declared.required;
      if (value !== undefined && isMeaningful) setValue(out, name, value);
      else delete out[name];
      return;
    }
    default:
      return type satisfies never;
  }
}

function objectAt(out: JsonObject, name: string): JsonObject {
  const earlier = ownValue(out, name);
  if (isObject(earlier)) return earlier;
  const created: JsonObject = {};
  setValue(out, name, created);
  return created;
}

function readItem(list: Json[], items: FieldType, field: WireField): void {
  const type = underlying(items);
  switch (type.kind) {
    case "struct": {
      const item: JsonObject = {};
      readStruct(item, type, bytesOf(field));
      list.push(item);
      return;
    }
    case "scalar": {
      const { scalar } = type;
      if (field.kind === "bytes" && (scalar === "int32" || scalar === "int64" || scalar === "bool")) {
        for (const value of packedVarints(field.bytes)) list.push(integerValue(scalar, value));
        return;
      }
      list.push(scalarValue(scalar, field) ?? null);
      return;
    }
    default:
      throw new WireError("unsupported list item");
  }
}

function readEntry(map: JsonObject, values: FieldType, message: Buffer): void {
  const type = underlying(values);
  let key = "";
  let value: Json = emptyOf(type);
  for (const field of wireFields(message)) {
    if (field.number === 1) key = bytesOf(field).toString("utf8");
    if (field.number !== 2) continue;
    if (type.kind === "scalar") value = scalarValue(type.scalar, field) ?? emptyOf(type);
    // The values of a map cannot be lists: each list is wrapped in a message.
    else if (type.kind === "list" && Array.isArray(value)) {
      for (const item of wireFields(bytesOf(field))) if (item.number === 1) readItem(value, type.items, item);
    } else if (type.kind === "struct" && isObject(value)) readStruct(value, type, bytesOf(field));
  }
  setValue(map, key, value);
}

/** The value of an entry that has only a key. */
function emptyOf(type: FieldType): Json {
  if (type.kind === "list") return [];
  if (type.kind !== "scalar") return {};
  switch (type.scalar) {
    case "bool":
      return false;
    case "int32":
    case "int64":
    case "float64":
      return 0;
    case "quantity":
      return "0";
    default:
      return "";
  }
}
