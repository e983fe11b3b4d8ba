import { parseQuantity } from "../../lib/model/quantity.ts";
import type { Scalar } from "../../lib/schema/field-type.ts";
import { timeError } from "./time-text.ts";

/**
 * The error from decoding a scalar.
 * - type: a value of another type
 * - text: the right type, with contents that do not decode
 * `isFatal`: Kubernetes stops decoding and reports this error instead of earlier ones.
 */
export type ScalarError =
  | { readonly kind: "type"; readonly isFatal: boolean; readonly expected: Scalar }
  | { readonly kind: "text"; readonly isFatal: boolean; readonly message: string };

/** Checks a value other than null, which is valid for all types. */
export function checkScalar(expected: Scalar, value: unknown): ScalarError | undefined {
  switch (expected) {
    case "any":
      return undefined;
    case "bool":
      return typeof value === "boolean" ? undefined : wrongType(expected);
    case "string":
      return typeof value === "string" ? undefined : wrongType(expected);
    case "float64":
      return typeof value === "number" ? undefined : wrongType(expected);
    case "int32":
      return isInt32(value) ? undefined : wrongType(expected);
    case "int64":
      // An integer beyond the safe range would be returned as another number, possibly out of the range of int64.
      return Number.isSafeInteger(value) ? undefined : wrongType(expected);
    case "int-or-string":
      if (typeof value === "string" || isInt32(value)) return undefined;
      return { kind: "type", isFatal: true, expected: "int32" };
    case "bytes":
      if (typeof value !== "string") return wrongType(expected);
      return wrongText(base64Error(value), false);
    case "time":
    case "microtime":
      if (typeof value !== "string") return { kind: "type", isFatal: true, expected: "string" };
      return wrongText(timeError(value, expected), true);
    case "quantity":
      return wrongText(quantityError(typeof value === "string" ? value : JSON.stringify(value)), true);
    default:
      return expected satisfies never;
  }
}

function isInt32(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= -(2 ** 31) && (value as number) < 2 ** 31;
}

function wrongType(expected: Scalar): ScalarError {
  return { kind: "type", isFatal: false, expected };
}

function wrongText(message: string | undefined, isFatal: boolean): ScalarError | undefined {
  return message === undefined ? undefined : { kind: "text", isFatal, message };
}

const alphabet = /[A-Za-z0-9+/]/;

/** The error of Go's base64 decoder, with the offset of the first illegal byte. Line breaks are ignored. */
export function base64Error(text: string): string | undefined {
  if (/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return undefined;
  const offset = firstIllegal(text);
  return offset === undefined ? undefined : `illegal base64 data at input byte ${offset}`;
}

function firstIllegal(text: string): number | undefined {
  const offsets = [...text].flatMap((char, at) => (char === "\n" || char === "\r" ? [] : [at]));
  for (const [count, at] of offsets.entries()) {
    if (alphabet.test(text[at]!)) continue;
    const inGroup = count % 4;
    if (text[at] !== "=" || inGroup < 2) return at;
    if (inGroup === 3) return offsets[count + 1];
    const second = offsets[count + 1];
    if (second === undefined) return text.length;
    return text[second] === "=" ? offsets[count + 2] : second;
  }
  const open = offsets.length % 4;
  return open === 0 ? undefined : text.length - open;
}

const pattern = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$";

/** The error from parsing a quantity; undefined if it is valid. */
export function quantityError(text: string): string | undefined {
  const trimmed = text.trim();
  if (parseQuantity(trimmed) !== undefined) return undefined;
  const [number = ""] = /^[+-]?\d*(?:\.\d*)?/.exec(trimmed) ?? [];
  if (trimmed === "" || !/^[eEinumkKMGTP]*[-+]?\d*$/.test(trimmed.slice(number.length)))
    return `quantities must match the regular expression '${pattern}'`;
  if (!/\d/.test(number)) return "unable to parse numeric part of quantity";
  return "unable to parse quantity's suffix";
}
