import { TAG } from "./der.ts";
import { DerReader, malformed, readBoolean } from "./der-reader.ts";

export interface BasicConstraints {
  readonly isCa: boolean;
  readonly maxPathLength: number | undefined;
}

export function readBasicConstraints(value: Buffer): BasicConstraints {
  const outer = new DerReader(value, "basic constraints");
  const constraints = outer.sequence();
  outer.end();
  const flag = constraints.optional(TAG.boolean);
  const length = constraints.optional(TAG.integer);
  constraints.end();
  return {
    isCa: flag !== undefined && readBoolean(flag),
    maxPathLength: length && readLength(length.content),
  };
}

function readLength(bytes: Buffer): number {
  // No chain needs more than four bytes; a negative length is invalid.
  if (bytes.length === 0 || bytes.length > 4 || (bytes[0] ?? 0) > 0x7f)
    throw malformed("malformed basic constraints: path length out of range");
  return bytes.readUIntBE(0, bytes.length);
}
