import type { Problem } from "../../lib/model/validation/problem.ts";
import type { GroupVersionKind } from "../definition.ts";

/** What is known of the fields of kinds. Without it, everything that is JSON is taken. */
export interface FieldChecks {
  check(
    group: string,
    version: string,
    kind: string,
    value: unknown,
  ): { readonly unknown: readonly string[]; readonly problems: readonly Problem[] };
  /** Fields that occur twice in JSON text, as paths. */
  duplicates(text: string): readonly string[];
  /** The value as it is kept: without unknown fields, quantities and times in their one spelling. */
  decode(group: string, version: string, kind: string, value: unknown): unknown;
}

export interface FieldReport {
  /** What strict clients are refused for and others are warned of: `unknown field "spec.foo"`. */
  readonly strict: readonly string[];
  /** Why it cannot be read at all. */
  readonly broken: string | undefined;
  readonly value: unknown;
}

/** Looks at the fields of a body, and reads what can be read. */
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
