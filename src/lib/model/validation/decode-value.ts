import { isObject } from "../../base/json-value.ts";
import { type FieldType, type Scalar, underlying } from "../../schema/field-type.ts";
import { canonicalQuantity } from "../quantity-form.ts";
import { formatValue, Problems } from "./problem.ts";

export interface Decoded {
  value: unknown;
  problems: Problems;
  /** Unknown fields: ignored as by the API server, with a warning. */
  unknown: string[];
}

/** Decodes a parsed JSON value: types checked, nulls and unknown fields omitted. */
export function decode(type: FieldType, input: unknown, at = ""): Decoded {
  const decoded: Decoded = { value: undefined, problems: new Problems(), unknown: [] };
  decoded.value = into(type, input, at, decoded);
  return decoded;
}

function into(declared: FieldType, input: unknown, at: string, out: Decoded): unknown {
  const type = underlying(declared);
  const wrong = (expected: string): undefined => {
    const hint = expected === "a string" && ["boolean", "number"].includes(typeof input) ? " (quote it)" : "";
    out.problems.add(at, `expected ${expected}, got ${got(input)}${hint}`);
  };
  switch (type.kind) {
    case "scalar":
      return intoScalar(type.scalar, input, wrong);
    case "list":
      if (!Array.isArray(input)) return wrong("a list");
      return input.map((item, i) => into(type.items, item ?? zero(type.items), `${at}[${i}]`, out));
    case "map": {
      if (!isObject(input)) return wrong("a map");
      return Object.fromEntries(
        Object.entries(input).map(([key, value]) => [
          key,
          into(type.values, value ?? zero(type.values), `${at}[${key}]`, out),
        ]),
      );
    }
    case "struct": {
      if (!isObject(input)) return wrong("an object");
      const value: Record<string, unknown> = {};
      for (const [key, given] of Object.entries(input)) {
        const path = at === "" ? key : `${at}.${key}`;
        const field = type.fields.get(key);
        if (!field) out.unknown.push(path);
        else if (given !== null && given !== undefined) value[key] = into(field.type, given, path, out);
      }
      return value;
    }
    default:
      return type satisfies never;
  }
}

function intoScalar(scalar: Scalar, input: unknown, wrong: (expected: string) => undefined): unknown {
  switch (scalar) {
    case "string":
    case "bytes":
      return typeof input === "string" ? input : wrong("a string");
    case "bool":
      return typeof input === "boolean" ? input : wrong("true or false");
    case "int32":
    case "int64": {
      if (typeof input !== "number" || !Number.isInteger(input)) return wrong("an integer");
      const most = scalar === "int32" ? 2 ** 31 : 2 ** 63;
      if (input < -most || input > (scalar === "int32" ? most - 1 : most))
        return wrong(`an integer of ${scalar === "int32" ? 32 : 64} bits`);
      return input;
    }
    case "float64":
      return typeof input === "number" ? input : wrong("a number");
    case "quantity": {
      if (typeof input !== "string" && typeof input !== "number") return wrong("a quantity");
      // The UID of a static pod contains all digits of a quantity: their number must be limited.
      const isTooLong = /[eE][+-]?\d{4,}$/.test(String(input));
      const quantity = isTooLong ? undefined : canonicalQuantity(input);
      return quantity ?? wrong('a quantity such as "500m" or "64Mi"');
    }
    case "int-or-string":
      if (typeof input === "string" || (typeof input === "number" && Number.isInteger(input))) return input;
      return wrong("an integer or a string");
    case "time":
    case "microtime":
      if (typeof input !== "string" || Number.isNaN(Date.parse(input))) return wrong("a time in RFC 3339");
      return input;
    case "any":
      return input;
    default:
      return scalar satisfies never;
  }
}

/** The value of an explicit null in a list or map. */
function zero(declared: FieldType): unknown {
  const type = underlying(declared);
  if (type.kind === "list") return [];
  if (type.kind !== "scalar") return {};
  switch (type.scalar) {
    case "string":
    case "bytes":
      return "";
    case "bool":
      return false;
    case "any":
    case "time":
    case "microtime":
      return null;
    case "quantity":
    case "int32":
    case "int64":
    case "float64":
    case "int-or-string":
      return 0;
    default:
      return type.scalar satisfies never;
  }
}

function got(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (isObject(value)) return "an object";
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return formatValue(value);
}
