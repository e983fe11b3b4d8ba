import type { Problem } from "../../lib/model/validation/problem.ts";
import type { GroupVersionKind } from "../definition.ts";

/** Checks of fields by kind. Without it, any JSON is accepted. */
export interface FieldChecks {
  check(
    group: string,
    version: string,
    kind: string,
    value: unknown,
  ): { readonly unknown: readonly string[]; readonly problems: readonly Problem[] };
  /** Paths of duplicate fields in JSON text. */
  duplicates(text: string): readonly string[];
  /** The value to be stored: without unknown fields, with quantities and times in canonical form. */
  decode(group: string, version: string, kind: string, value: unknown): unknown;
}

export interface FieldReport {
  /** Errors for strict clients and warnings for others: `unknown field "spec.foo"`. */
  readonly strict: readonly string[];
  /** The decoding error. */
  readonly broken: string | undefined;
  readonly value: unknown;
}

/** Checks the fields of a body, and decodes it if it is valid. */
export function reportFields(
  checks: FieldChecks | undefined,
  { group, version, kind }: GroupVersionKind,
  value: unknown,
  text: string | undefined,
): FieldReport {
  if (!checks) return { strict: [], broken: undefined, value };
  const { unknown, problems } = checks.check(group, version, kind, value);
  const broken = problems[0]?.message;
  const twice = text === undefined ? [] : checks.duplicates(text);
  return {
    strict: [
      ...twice.map((path) => `duplicate field ${JSON.stringify(path)}`),
      ...unknown.map((path) => `unknown field ${JSON.stringify(path)}`),
    ],
    broken,
    value: broken === undefined ? checks.decode(group, version, kind, value) : value,
  };
}
