import { type FieldType, type Scalar, underlying } from "../../lib/schema/field-type.ts";
import { packageOf } from "../../lib/schema/packages.ts";

const scalarNames: Readonly<Record<Scalar, string>> = {
  any: "interface {}",
  bool: "bool",
  bytes: "[]uint8",
  float64: "float64",
  "int-or-string": "intstr.IntOrString",
  int32: "int32",
  int64: "int64",
  microtime: "v1.MicroTime",
  quantity: "resource.Quantity",
  string: "string",
  time: "v1.Time",
};

/** The Go name of a type, as in error messages: "[]v1.Container". */
export function goName(type: FieldType): string {
  switch (type.kind) {
    case "scalar":
      return scalarNames[type.scalar];
    case "struct":
      return qualified(type.name);
    case "alias":
      return type.name.startsWith("types.") ? type.name : qualified(type.name);
    case "list":
      return `[]${goName(type.items)}`;
    case "map":
      return `map[string]${goName(type.values)}`;
    default:
      return type satisfies never;
  }
}

function qualified(name: string): string {
  return `${packageOf(name).version}.${name.split(".")[1]}`;
}

/** The type of a JSON value, as in the same messages; a number is shown where one was expected. */
export function valueName(value: unknown, expected: FieldType): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  if (typeof value !== "number") return typeof value;
  const type = underlying(expected);
  const numeric = type.kind === "scalar" && ["float64", "int32", "int64"].includes(type.scalar);
  return numeric ? `number ${value}` : "number";
}
