import { type BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { isObject, type Json, type JsonObject, ownValue } from "../../base/json-value.ts";
import { type FieldType, type StructType, underlying } from "../field-type.ts";
import { writeScalar } from "./write-scalar.ts";

export function writeStruct(writer: BinaryWriter, type: StructType, value: JsonObject): void {
  for (const [number, member] of type.members) {
    if (member.kind === "embedded") {
      writeMessage(writer, number, () => writeStruct(writer, member.struct, value));
      continue;
    }
    const given = ownValue(value, member.name);
    if (given !== undefined && given !== null) writeValue(writer, number, member.type, given);
  }
}

export function writeValue(writer: BinaryWriter, number: number, declared: FieldType, value: Json): void {
  const type = underlying(declared);
  switch (type.kind) {
    case "scalar":
      return writeScalar(writer, number, type.scalar, value);
    case "struct":
      return writeMessage(writer, number, () => {
        if (isObject(value)) writeStruct(writer, type, value);
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

/** protobuf maps cannot contain lists: each list is wrapped in a message. */
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
