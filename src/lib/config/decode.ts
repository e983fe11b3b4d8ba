import { isObject } from "../base/json-value.ts";
import { parseQuantity } from "../model/quantity.ts";
import { fromNanoseconds, parseDuration } from "./duration.ts";
import { apiVersion, kind, kubeletFields, type PartialConfiguration } from "./kubelet-configuration.ts";
import type { Path, Problem } from "./problems.ts";
import type { Fields, IntSize, Kind } from "./schema.ts";

export interface Decoded {
  /** The decoded fields; invalid ones are omitted. */
  readonly config: PartialConfiguration;
  readonly problems: readonly Problem[];
}

/** An unknown field or a value of the wrong type is a problem, and all problems are reported. */
export function decodeConfiguration(raw: unknown): Decoded {
  if (!isObject(raw)) {
    return { config: {}, problems: [{ path: [], message: `must be an object, not ${describe(raw)}` }] };
  }
  const problems: Problem[] = [];
  const { apiVersion: givenVersion, kind: givenKind, ...rest } = raw;
  expect("apiVersion", givenVersion, apiVersion);
  expect("kind", givenKind, kind);
  const config = decodeFields(kubeletFields, rest, [], problems) as PartialConfiguration;
  return { config, problems };

  function expect(name: string, actual: unknown, expected: string) {
    if (actual === expected) return;
    const message =
      actual === undefined
        ? `is missing, must be "${expected}"`
        : `must be "${expected}", not ${describe(actual)}`;
    problems.push({ path: [name], message });
  }
}

/** The decoded value, or undefined after a problem was recorded. */
export function decodeValue(type: Kind, raw: unknown, path: Path, problems: Problem[]): unknown {
  const invalid = (message: string) => {
    problems.push({ path, message });
    return undefined;
  };
  switch (type.kind) {
    case "bool":
      return typeof raw === "boolean" ? raw : invalid(`must be true or false, not ${describe(raw)}`);
    case "string":
      return typeof raw === "string" ? raw : invalid(`must be a string, not ${describe(raw)}`);
    case "float":
      return typeof raw === "number" ? raw : invalid(`must be a number, not ${describe(raw)}`);
    case "int": {
      if (typeof raw !== "number" || !Number.isInteger(raw)) {
        return invalid(`must be a whole number, not ${describe(raw)}`);
      }
      return fits(raw, type.size) ? raw : invalid(`${raw} is out of range`);
    }
    case "duration": {
      if (type.orNanoseconds && typeof raw === "number" && Number.isSafeInteger(raw))
        return fromNanoseconds(raw);
      if (typeof raw !== "string") return invalid(`must be a duration such as "1m30s", not ${describe(raw)}`);
      return parseDuration(raw) ?? invalid(`${JSON.stringify(raw)} is not a duration`);
    }
    case "quantity": {
      if (typeof raw !== "string" && typeof raw !== "number") {
        return invalid(`must be a quantity such as "1Gi", not ${describe(raw)}`);
      }
      const text = String(raw).trim();
      return parseQuantity(text) === undefined ? invalid(`${JSON.stringify(raw)} is not a quantity`) : text;
    }
    case "list":
      if (!Array.isArray(raw)) return invalid(`must be a list, not ${describe(raw)}`);
      return whole(raw.map((item, index) => decodeValue(type.of, item, [...path, index], problems)));
    case "map":
      if (!isObject(raw)) return invalid(`must be an object, not ${describe(raw)}`);
      return Object.fromEntries(
        Object.entries(raw)
          // In a drop-in, null removes the key.
          .filter(([, value]) => value !== null)
          .map(([name, value]) => [name, decodeValue(type.of, value, [...path, name], problems)] as const)
          .filter(([, value]) => value !== undefined),
      );
    case "object":
      if (!isObject(raw)) return invalid(`must be an object, not ${describe(raw)}`);
      return decodeFields(type.fields, raw, path, problems);
    default:
      return type satisfies never;
  }
}

/** A list with a gap would only cause further problems. */
function whole(items: unknown[]): unknown[] | undefined {
  return items.includes(undefined) ? undefined : items;
}

function decodeFields(fields: Fields, raw: Record<string, unknown>, path: Path, problems: Problem[]) {
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(raw)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (!field) {
      const near = Object.keys(fields).find((known) => known.toLowerCase() === name.toLowerCase());
      const message = near ? `is not a known field, did you mean ${near}?` : "is not a known field";
      problems.push({
        path: [...path, name],
        message,
        tolerated: { in: "all files", effect: "it is ignored" },
      });
      continue;
    }
    // null is the same as absent.
    if (value === null || value === undefined) continue;
    const decoded = decodeValue(field.type, value, [...path, name], problems);
    if (decoded !== undefined) result[name] = decoded;
  }
  return result;
}

function fits(value: number, size: IntSize): boolean {
  if (size === "int32") return value >= -(2 ** 31) && value < 2 ** 31;
  if (size === "uint32") return value >= 0 && value < 2 ** 32;
  return Number.isSafeInteger(value);
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return typeof value === "string" ? `the string ${JSON.stringify(value)}` : `the ${typeof value} ${value}`;
}
