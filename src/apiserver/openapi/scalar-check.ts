import type { Scalar } from "../../lib/schema/field-type.ts";
import { base64Complaint } from "./base64-text.ts";
import { quantityComplaint } from "./quantity-text.ts";
import { timeComplaint } from "./time-text.ts";

/**
 * What is wrong with a scalar.
 * - type: a value of another type
 * - text: the right type, with contents that do not decode
 * `ends` says that Kubernetes reads no further, and tells this rather than what it found before.
 */
export type ScalarComplaint =
  | { readonly kind: "type"; readonly ends: boolean; readonly wanted: Scalar }
  | { readonly kind: "text"; readonly ends: boolean; readonly message: string };

/** Not for null, which everything takes. */
export function checkScalar(wanted: Scalar, value: unknown): ScalarComplaint | undefined {
  switch (wanted) {
    case "any":
      return undefined;
    case "bool":
      return typeof value === "boolean" ? undefined : wrongType(wanted);
    case "string":
      return typeof value === "string" ? undefined : wrongType(wanted);
    case "float64":
      return typeof value === "number" ? undefined : wrongType(wanted);
    case "int32":
      return isInt32(value) ? undefined : wrongType(wanted);
    case "int64":
      // What a number here does not hold exactly would be sent back as another one, which may be none of 64 bits.
      return Number.isSafeInteger(value) ? undefined : wrongType(wanted);
    case "int-or-string":
      if (typeof value === "string" || isInt32(value)) return undefined;
      return { kind: "type", ends: true, wanted: "int32" };
    case "bytes":
      if (typeof value !== "string") return wrongType(wanted);
      return wrongText(base64Complaint(value), false);
    case "time":
    case "microtime":
      if (typeof value !== "string") return { kind: "type", ends: true, wanted: "string" };
      return wrongText(timeComplaint(value, wanted), true);
    case "quantity":
      return wrongText(quantityComplaint(typeof value === "string" ? value : JSON.stringify(value)), true);
    default:
      return wanted satisfies never;
  }
}

function isInt32(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= -(2 ** 31) && (value as number) < 2 ** 31;
}

function wrongType(wanted: Scalar): ScalarComplaint {
  return { kind: "type", ends: false, wanted };
}

function wrongText(message: string | undefined, ends: boolean): ScalarComplaint | undefined {
  return message === undefined ? undefined : { kind: "text", ends, message };
}
