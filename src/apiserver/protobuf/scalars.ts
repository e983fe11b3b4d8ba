import type { Scalar } from "../../lib/schema/field-type.ts";
import type { Json } from "../patch/json-value.ts";
import { WireError, type WireField, wireFields } from "./wire-reader.ts";

/** The JSON form of a value; undefined if it has none, such as the zero time. */
export function scalarValue(scalar: Scalar, field: WireField): Json | undefined {
  switch (scalar) {
    case "bool":
    case "int32":
    case "int64":
      return integerValue(scalar, varintOf(field));
    case "float64":
      if (field.kind !== "fixed64") throw wrongType(field);
      return field.bytes.readDoubleLE();
    case "string":
      return bytesOf(field).toString("utf8");
    case "bytes":
      return bytesOf(field).toString("base64");
    case "quantity":
      return firstText(bytesOf(field)) ?? "0";
    case "int-or-string":
      return intOrString(bytesOf(field));
    case "time":
    case "microtime":
      return time(bytesOf(field), scalar);
    case "any":
      return anything(bytesOf(field));
    default:
      return scalar satisfies never;
  }
}

/** A 64-bit integer loses precision as in JSON. */
export function integerValue(scalar: "bool" | "int32" | "int64", value: bigint): boolean | number {
  return scalar === "bool" ? value !== 0n : Number(BigInt.asIntN(scalar === "int32" ? 32 : 64, value));
}

export function bytesOf(field: WireField): Buffer {
  if (field.kind !== "bytes") throw wrongType(field);
  return field.bytes;
}

function varintOf(field: WireField): bigint {
  if (field.kind !== "varint") throw wrongType(field);
  return field.value;
}

const wireTypes = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

function wrongType({ number, kind }: WireField): WireError {
  return new WireError(`proto: wrong wireType = ${wireTypes[kind]} for field ${number}`);
}

function firstText(message: Buffer): string | undefined {
  let text: string | undefined;
  for (const field of wireFields(message)) if (field.number === 1) text = bytesOf(field).toString("utf8");
  return text;
}

function intOrString(message: Buffer): Json {
  let type = 0n;
  let number = 0;
  let text = "";
  for (const field of wireFields(message)) {
    if (field.number === 1) type = varintOf(field);
    else if (field.number === 2) number = Number(BigInt.asIntN(32, varintOf(field)));
    else if (field.number === 3) text = bytesOf(field).toString("utf8");
  }
  if (type > 1n) throw new WireError("impossible IntOrString.Type");
  return type === 1n ? text : number;
}

const million = 1_000_000n;
const yearOne = -62_135_596_800n;
const afterYear9999 = 253_402_300_800n;

/** An empty message is the zero time, and so is the first second of the year 1. */
function time(message: Buffer, scalar: "time" | "microtime"): string | undefined {
  if (message.length === 0) return undefined;
  let micros = 0n;
  let seconds = 0n;
  for (const field of wireFields(message)) {
    if (field.number === 1) seconds = BigInt.asIntN(64, varintOf(field));
    else if (field.number === 2) micros = BigInt.asIntN(32, varintOf(field)) / 1000n;
  }
  // A Time has second precision.
  if (scalar === "time") micros = 0n;
  const rest = ((micros % million) + million) % million;
  const whole = seconds + (micros - rest) / million;
  if (whole === yearOne && rest === 0n) return undefined;
  if (whole < yearOne || whole >= afterYear9999)
    throw new WireError("a time must be in the years from 1 to 9999");
  const text = new Date(Number(whole) * 1000).toISOString().slice(0, 19);
  return scalar === "time" ? `${text}Z` : `${text}.${String(rest).padStart(6, "0")}Z`;
}

/** JSON in protobuf: managed fields. */
function anything(message: Buffer): Json | undefined {
  const text = firstText(message);
  if (!text) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    throw new WireError(`not JSON where it should be: ${String(cause)}`);
  }
}
