import type { Scalar } from "../../lib/schema/field-type.ts";
import { base64Error } from "./base64-text.ts";
import { quantityError } from "./quantity-text.ts";
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

/** Not for null, which is valid for all types. */
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
