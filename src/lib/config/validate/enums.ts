import type { Path, Problem } from "../problems.ts";
import type { Fields, Kind } from "../schema.ts";

/** Enum fields with a value that the schema does not list. */
export function enumProblems(fields: Fields, values: object, path: Path = []): Problem[] {
  return Object.entries(fields).flatMap(([name, field]) =>
    check(field.type, (values as Record<string, unknown>)[name], [...path, name]),
  );
}

function check(type: Kind, value: unknown, path: Path): Problem[] {
  if (value === undefined) return [];
  if (type.kind === "object") return enumProblems(type.fields, value as object, path);
  if (type.kind !== "string" || !type.oneOf || type.oneOf.includes(value as string)) return [];
  const allowed = type.oneOf.map((name) => JSON.stringify(name)).join(", ");
  return [{ path, message: `${JSON.stringify(value)} is not one of ${allowed}` }];
}
