import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { ApiProblem } from "../api-problem.ts";
import { type FieldType, type StructType, underlying } from "../openapi/field-type.ts";
import { kindType, structType } from "../openapi/type-table.ts";
import { isObject, type Json, type JsonObject, ownValue } from "../patch/json-value.ts";
import { groupVersion, magic } from "./decode-protobuf.ts";
import { numberedFields } from "./field-numbers.ts";
import { writeScalar } from "./write-scalar.ts";

/** An object or a list of them in the form that clients of protobuf read. */
export function encodeProtobuf(object: JsonObject): Buffer {
  const apiVersion = String(object.apiVersion ?? "");
  const kind = String(object.kind ?? "");
  const writer = new BinaryWriter();
  writer.tag(1, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).string(apiVersion);
  writer.tag(2, WireType.LengthDelimited).string(kind);
  writer.join();
  writeMessage(writer, 2, () => writeKind(writer, apiVersion, kind, object));
  return Buffer.concat([magic, writer.finish()]);
}

/** One event of a watch: its length in four bytes, then the event, with the object as it is sent by itself. */
export function watchFrame(type: string, object: JsonObject): Buffer {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.LengthDelimited).string(type);
  const whole = encodeProtobuf(object);
  writeMessage(writer, 2, () => writer.tag(1, WireType.LengthDelimited).bytes(whole));
  const event = writer.finish();
  const length = Buffer.alloc(4);
  length.writeUInt32BE(event.length);
  return Buffer.concat([length, event]);
}

function writeKind(writer: BinaryWriter, apiVersion: string, kind: string, object: JsonObject): void {
  const { group, version } = groupVersion(apiVersion);
  const find = (name: string) => kindType(group, version, name);
  const type = find(kind);
  if (type) return writeStruct(writer, type, type.name, object);
  // All lists look alike, and the tables have none of them.
  const item = kind.endsWith("List") ? find(kind.slice(0, -"List".length)) : undefined;
  if (!item)
    throw new ApiProblem(
      406,
      "NotAcceptable",
      `object of kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)} cannot be encoded to a protobuf message`,
    );
  writeValue(writer, 1, { kind: "struct", type: "meta.ListMeta" }, object.metadata ?? {});
  writeValue(writer, 2, { kind: "list", items: { kind: "struct", type: item.name } }, object.items ?? []);
}

/** `numbers` is another message than the type for what is embedded: its fields are those of the type that embeds it. */
function writeStruct(writer: BinaryWriter, type: StructType, numbers: string, value: JsonObject): void {
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

function writeValue(writer: BinaryWriter, number: number, declared: FieldType, value: Json): void {
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

function writeMessage(writer: BinaryWriter, number: number, write: () => void): void {
  writer.tag(number, WireType.LengthDelimited).fork();
  write();
  writer.join();
}
