import { canonicalQuantity } from "../quantity-form.ts";
import { Problems, shown } from "./problem.ts";

/** The shape of a value, as far as decoding is concerned. */
export type Shape =
  | { kind: "string" | "bool" | "int32" | "int64" | "quantity" | "intOrString" | "time" }
  /** Taken as it is. */
  | { kind: "any" }
  | { kind: "list"; of: Shape }
  | { kind: "map"; of: Shape }
  | { kind: "object"; fields: Readonly<Record<string, Shape>> };

export const string: Shape = { kind: "string" };
export const bool: Shape = { kind: "bool" };
export const int32: Shape = { kind: "int32" };
export const int64: Shape = { kind: "int64" };
export const quantity: Shape = { kind: "quantity" };
export const intOrString: Shape = { kind: "intOrString" };
export const time: Shape = { kind: "time" };
export const any: Shape = { kind: "any" };
export const list = (of: Shape): Shape => ({ kind: "list", of });
export const map = (of: Shape): Shape => ({ kind: "map", of });
export const object = (fields: Record<string, Shape>): Shape => ({ kind: "object", fields });
/** An object of which all of these fields are strings. */
export const strings = (...names: string[]): Record<string, Shape> =>
  Object.fromEntries(names.map((name) => [name, string]));

export interface Decoded {
  value: unknown;
  problems: Problems;
  /** Fields that the shape does not have: ignored, as the API server ignores them, but worth a warning. */
  unknown: string[];
}

/** Brings a parsed JSON value into shape: types checked, nulls and unknown fields left out. */
export function decode(shape: Shape, input: unknown, at = ""): Decoded {
  const decoded: Decoded = { value: undefined, problems: new Problems(), unknown: [] };
  decoded.value = into(shape, input, at, decoded);
  return decoded;
}

function into(shape: Shape, input: unknown, at: string, out: Decoded): unknown {
  const wrong = (expected: string) => {
    const hint =
      shape.kind === "string" && (typeof input === "boolean" || typeof input === "number")
        ? " (quote it)"
        : "";
    out.problems.add(at, `expected ${expected}, got ${got(input)}${hint}`);
  };
  switch (shape.kind) {
    case "string":
      return typeof input === "string" ? input : wrong("a string");
    case "bool":
      return typeof input === "boolean" ? input : wrong("true or false");
    case "int32":
    case "int64": {
      if (typeof input !== "number" || !Number.isInteger(input)) return wrong("an integer");
      const most = shape.kind === "int32" ? 2 ** 31 : 2 ** 63;
      if (input < -most || input > (shape.kind === "int32" ? most - 1 : most))
        return wrong(`an integer of ${shape.kind === "int32" ? 32 : 64} bits`);
      return input;
    }
    case "quantity": {
      if (typeof input !== "string" && typeof input !== "number") return wrong("a quantity");
      // The UID of a static pod is made of all digits of a quantity: there must not be a billion of them.
      const isTooLong = /[eE][+-]?\d{4,}$/.test(String(input));
      const quantity = isTooLong ? undefined : canonicalQuantity(input);
      return quantity ?? wrong('a quantity such as "500m" or "64Mi"');
    }
    case "intOrString":
      if (typeof input === "string" || (typeof input === "number" && Number.isInteger(input))) return input;
      return wrong("an integer or a string");
    case "time":
      if (typeof input !== "string" || Number.isNaN(Date.parse(input))) return wrong("a time in RFC 3339");
      return input;
    case "any":
      return input;
    case "list":
      if (!Array.isArray(input)) return wrong("a list");
      return input.map((item, i) => into(shape.of, item ?? zero(shape.of), `${at}[${i}]`, out));
    case "map": {
      if (!isRecord(input)) return wrong("a map");
      return Object.fromEntries(
        Object.entries(input).map(([key, value]) => [
          key,
          into(shape.of, value ?? zero(shape.of), `${at}[${key}]`, out),
        ]),
      );
    }
    case "object": {
      if (!isRecord(input)) return wrong("an object");
      const value: Record<string, unknown> = {};
      for (const [key, field] of Object.entries(input)) {
        const path = at === "" ? key : `${at}.${key}`;
        const known = Object.hasOwn(shape.fields, key) ? shape.fields[key] : undefined;
        if (!known) out.unknown.push(path);
        else if (field !== null && field !== undefined) value[key] = into(known, field, path, out);
      }
      return value;
    }
    default:
      return shape satisfies never;
  }
}

/** What an explicit null stands for inside of a list or map. */
function zero(shape: Shape): unknown {
  switch (shape.kind) {
    case "string":
      return "";
    case "bool":
      return false;
    case "list":
      return [];
    case "map":
    case "object":
      return {};
    case "any":
      return null;
    case "time":
      return null;
    case "quantity":
    case "int32":
    case "int64":
    case "intOrString":
      return 0;
    default:
      return shape satisfies never;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function got(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (isRecord(value)) return "an object";
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return shown(value);
}
