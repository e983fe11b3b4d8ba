import type { Problem } from "../../lib/model/validation/problem.ts";
import type { GroupVersionKind } from "../definition.ts";

/** Checks the fields of each kind. Without it, any JSON is accepted. */
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
  /** Errors with fieldValidation=Strict, and warnings with Warn: `unknown field "spec.foo"`. */
  readonly strict: readonly string[];
  readonly decodingError: string | undefined;
  readonly value: unknown;
}

/** Checks the fields of a body, and decodes it if it is valid. */
export function reportFields(
  checks: FieldChecks | undefined,
  { group, version, kind }: GroupVersionKind,
  value: unknown,
  text: string | undefined,
): FieldReport {
  if (!checks) return { strict: [], decodingError: undefined, value };
  const { unknown, problems } = checks.check(group, version, kind, value);
  const decodingError = problems[0]?.message;
  const duplicates = text === undefined ? [] : checks.duplicates(text);
  return {
    strict: [
      ...duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`),
      ...unknown.map((path) => `unknown field ${JSON.stringify(path)}`),
    ],
    decodingError,
    value: decodingError === undefined ? checks.decode(group, version, kind, value) : value,
  };
}
