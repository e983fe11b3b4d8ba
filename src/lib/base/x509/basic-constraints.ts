import { TAG } from "./der.ts";
import { DerReader, type Element, malformed, readBoolean, readUnsigned } from "./der-reader.ts";

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
    maxPathLength: length && readLength(length),
  };
}

function readLength(element: Element): number {
  const bytes = readUnsigned(element);
  // No chain needs more than four bytes.
  if (bytes.length > 4) throw malformed("malformed basic constraints: path length out of range");
  return bytes.readUIntBE(0, bytes.length);
}
