import { BinaryWriter } from "@bufbuild/protobuf/wire";
import type { JsonObject } from "../../base/json-value.ts";
import { core } from "../types/core/core.ts";
import { writeStruct } from "./write-struct.ts";

/** A pod as a bare message, without the envelope of the API. */
export function encodePod(pod: object): Uint8Array {
  const writer = new BinaryWriter();
  writeStruct(writer, core.struct("Pod")!, pod as JsonObject);
  return writer.finish();
}
