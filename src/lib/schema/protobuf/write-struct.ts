import { type BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { isObject, type Json, type JsonObject, ownValue } from "../../base/json-value.ts";
import { type FieldType, type StructType, underlying } from "../field-type.ts";
import { structType } from "../type-table.ts";
import { numberedFields } from "./field-numbers.ts";
import { writeScalar } from "./write-scalar.ts";

/** `numbers` is another message than the type for what is embedded: its fields are those of the type that embeds it. */
export function writeStruct(
  writer: BinaryWriter,
  type: StructType,
  numbers: string,
  value: JsonObject,
): void {
  for (const [number, { name, embedded }] of numberedFields(numbers)) {
    if (embedded) {
      const inner = `${type.name.split(".")[0]}.${name}`;
      writeMessage(writer, number, () => writeStruct(writer, type, inner, value));
      continue;
    }
    const field = type.fields.get(name);
    const given = ownValue(value, name);
    if (field && given !== undefined && given !== null) writeValue(writer, number, field.type, given);
  }
}

export function writeValue(writer: BinaryWriter, number: number, declared: FieldType, value: Json): void {
  const type = underlying(declared);
  switch (type.kind) {
    case "scalar":
      return writeScalar(writer, number, type.scalar, value);
    case "struct":
      return writeMessage(writer, number, () => {
        const struct = structType(type.type);
        if (isObject(value)) writeStruct(writer, struct, struct.name, value);
      });
    case "list":
      for (const item of Array.isArray(value) ? value : [])
        if (item !== null) writeValue(writer, number, type.items, item);
      return;
    case "map":
      for (const [key, item] of Object.entries(isObject(value) ? value : {}))
        writeMessage(writer, number, () => {
          writer.tag(1, WireType.LengthDelimited).string(key);
          writeEntry(writer, type.values, item);
        });
      return;
    default:
      return type satisfies never;
  }
}

/** A map holds no lists: each stands in a message that has nothing else. */
function writeEntry(writer: BinaryWriter, values: FieldType, item: Json): void {
  if (item === null) return;
  if (underlying(values).kind === "list") writeMessage(writer, 2, () => writeValue(writer, 1, values, item));
  else writeValue(writer, 2, values, item);
}

export function writeMessage(writer: BinaryWriter, number: number, write: () => void): void {
  writer.tag(number, WireType.LengthDelimited).fork();
  write();
  writer.join();
}
