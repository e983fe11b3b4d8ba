import type { Path, Problem } from "../problems.ts";
import type { Fields, Kind } from "../schema.ts";

/** Fields of which the table names all possible values. */
export function choiceProblems(fields: Fields, values: object, path: Path = []): Problem[] {
  return Object.entries(fields).flatMap(([name, field]) =>
    check(field.type, (values as Record<string, unknown>)[name], [...path, name]),
  );
}

function check(type: Kind, value: unknown, path: Path): Problem[] {
  if (value === undefined) return [];
  if (type.kind === "object") return choiceProblems(type.fields, value as object, path);
  if (type.kind !== "string" || !type.oneOf || type.oneOf.includes(value as string)) return [];
  const choices = type.oneOf.map((choice) => JSON.stringify(choice)).join(", ");
  return [{ path, message: `${JSON.stringify(value)} is not one of ${choices}` }];
}
