import { parseQuantity } from "../../lib/model/quantity.ts";
import type { FieldProblems } from "./field-problems.ts";

const whole = 1_000_000_000n;
const fractional = new Set(["cpu"]);

/** An amount of a resource: not negative, and a whole number unless the resource can be divided. */
export function checkAmount(
  path: string,
  resource: string,
  value: string | number,
  problems: FieldProblems,
): void {
  const amount = quantityAt(path, value, problems);
  if (amount === undefined) return;
  if (amount < 0n) problems.invalid(path, String(value), "must be greater than or equal to 0");
  if (isInteger(resource) && amount % whole !== 0n)
    problems.invalid(path, String(value), "must be an integer");
}

export function checkPositive(path: string, value: string | number, problems: FieldProblems): void {
  const amount = quantityAt(path, value, problems);
  if (amount !== undefined && amount <= 0n)
    problems.invalid(path, String(value), "must be greater than zero");
}

function quantityAt(path: string, value: string | number, problems: FieldProblems): bigint | undefined {
  const amount = parseQuantity(value);
  if (amount === undefined)
    problems.invalid(
      path,
      String(value),
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
  return amount;
}

/** Extended resources ("example.com/gpu"), and those that count objects. */
function isInteger(resource: string): boolean {
  if (resource === "pods") return true;
  if (fractional.has(resource)) return false;
  const slash = resource.indexOf("/");
  return slash > 0 && !resource.slice(0, slash).endsWith("kubernetes.io");
}

/** The quantity, or zero if it is missing or invalid. */
export function amountOf(value: unknown): bigint {
  return typeof value === "string" || typeof value === "number" ? (parseQuantity(value) ?? 0n) : 0n;
}
