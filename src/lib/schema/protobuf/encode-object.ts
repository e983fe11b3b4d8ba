import { BinaryWriter } from "@bufbuild/protobuf/wire";
import type { JsonObject } from "../../base/json-value.ts";
import { structType } from "../type-table.ts";
import { writeStruct } from "./write-struct.ts";

/** An object as its message alone, without the envelope that the API has around it. `type`: "core.Pod". */
export function encodeObject(type: string, object: object): Uint8Array {
  const writer = new BinaryWriter();
  const struct = structType(type);
  writeStruct(writer, struct, struct.name, object as JsonObject);
  return writer.finish();
}
