import type { PodSpec } from "../../../../lib/model/pod.ts";
import { core } from "../../../../lib/schema/types/core/core.ts";
import type { FieldProblems } from "../../field-problems.ts";
import { checkLabelKeys, checkLabelSelector } from "./selectors.ts";

type Constraint = NonNullable<PodSpec["topologySpreadConstraints"]>[number];

const actions = core.values("UnsatisfiableConstraintAction");
const policies = core.values("NodeInclusionPolicy");

export function checkTopologySpread(spec: PodSpec, problems: FieldProblems): void {
  const constraints = spec.topologySpreadConstraints ?? [];
  const last = new Map(constraints.map((constraint, i) => [identityOf(constraint), i]));
  for (const [i, constraint] of constraints.entries()) {
    const at = `spec.topologySpreadConstraints[${i}]`;
    const { maxSkew = 0, topologyKey, whenUnsatisfiable, minDomains } = constraint;
    checkPositive(maxSkew, `${at}.maxSkew`, problems);
    if (!topologyKey) problems.required(`${at}.topologyKey`, "can not be empty");
    problems.oneOf(`${at}.whenUnsatisfiable`, whenUnsatisfiable, actions);
    if (last.get(identityOf(constraint)) !== i)
      problems.duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, `{${topologyKey}, ${whenUnsatisfiable}}`);
    if (minDomains !== undefined) {
      checkPositive(minDomains, `${at}.minDomains`, problems);
      if (whenUnsatisfiable !== "DoNotSchedule")
        problems.invalid(
          `${at}.minDomains`,
          minDomains,
          `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`,
        );
    }
    for (const field of ["nodeAffinityPolicy", "nodeTaintsPolicy"] as const)
      if (constraint[field] !== undefined) problems.oneOf(`${at}.${field}`, constraint[field], policies);
    checkLabelKeys({ match: constraint.matchLabelKeys }, constraint.labelSelector as never, at, problems);
    checkLabelSelector(constraint.labelSelector as never, `${at}.labelSelector`, problems);
  }
}

function identityOf({ topologyKey, whenUnsatisfiable }: Constraint): string {
  return JSON.stringify([topologyKey, whenUnsatisfiable]);
}

function checkPositive(value: number, at: string, problems: FieldProblems): void {
  if (value <= 0) problems.invalid(at, value, "must be greater than zero");
}
