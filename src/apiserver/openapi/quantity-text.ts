import { parseQuantity } from "../../lib/model/quantity.ts";

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
