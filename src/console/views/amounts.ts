import { parseQuantity } from "../../lib/model/quantity.ts";

/** Nano units as a number of units. */
export function units(nano: bigint): number {
  return Number(nano) / 1e9;
}

/** A quantity as a number; null if it is absent or invalid. */
export function amount(quantity: string | number | undefined): number | null {
  const nano = quantity === undefined ? undefined : parseQuantity(quantity);
  return nano === undefined ? null : units(nano);
}

/** Milliseconds since the epoch; null if there is no such time. */
export function timeOf(text: unknown): number | null {
  if (text === undefined || text === null || text === "") return null;
  const ms = Date.parse(String(text));
  return Number.isNaN(ms) ? null : ms;
}
