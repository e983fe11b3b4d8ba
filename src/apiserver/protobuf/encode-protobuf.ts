import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { kindType } from "../../lib/schema/packages.ts";
import { writeMessage, writeStruct, writeValue } from "../../lib/schema/protobuf/write-struct.ts";
import { meta } from "../../lib/schema/types/meta.ts";
import type { JsonObject } from "../patch/json-value.ts";
import { StatusError } from "../status-error.ts";
import { groupVersion, magic } from "./decode-protobuf.ts";

/** Encodes an object or a list. */
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

/** A watch event: its length in four bytes, then the event with the encoded object. */
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
  if (type) return writeStruct(writer, type, object);
  // All lists have the same fields, so the tables have none of them.
  const item = kind.endsWith("List") ? find(kind.slice(0, -"List".length)) : undefined;
  if (!item)
    throw new StatusError(
      406,
      "NotAcceptable",
      `object of kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)} cannot be encoded to a protobuf message`,
    );
  writeValue(writer, 1, meta.struct("ListMeta")!, object.metadata ?? {});
  writeValue(writer, 2, { kind: "list", items: item }, object.items ?? []);
}
