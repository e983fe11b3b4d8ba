import { checkToleration, type Toleration } from "../../lib/model/validation/tolerations.ts";
import type { FieldProblems } from "./field-problems.ts";

/** Tolerations of a runtime class: duplicates are rejected. */
export function checkDistinctTolerations(
  tolerations: readonly Toleration[] | undefined,
  path: string,
  problems: FieldProblems,
): void {
  const seen = new Set<string>();
  for (const [i, toleration] of (tolerations ?? []).entries()) {
    const { key = "", operator = "", value = "", effect = "" } = toleration;
    checkToleration(toleration, `${path}[${i}]`, problems);
    const identity = JSON.stringify([key, operator, value, effect]);
    if (seen.has(identity)) problems.duplicate(`${path}[${i}]`, toleration);
    seen.add(identity);
  }
}
