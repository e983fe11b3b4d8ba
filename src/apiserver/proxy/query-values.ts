import { badRequest } from "../rest/problems.ts";

const int64 = (1n << 63n) - 1n;

/** A boolean parameter is true if it is present, unless its value is "0" or "false". */
export function flag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== "0" && value.toLowerCase() !== "false";
}

export function integer(query: URLSearchParams, name: string): bigint | undefined {
  const value = query.get(name);
  return value === null ? undefined : parseInteger(value);
}

export function parseInteger(value: string): bigint {
  if (!/^[+-]?\d+$/.test(value))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
  const number = BigInt(value.replace(/^\+/, ""));
  if (number > int64 || number < -int64 - 1n)
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: value out of range`);
  return number;
}

/** Encodes a query as Go does: keys in order, values of one key in their original order. */
export function encodeQuery(values: URLSearchParams): string {
  values.sort();
  const text = values.toString();
  return text === "" ? "" : `?${text}`;
}
