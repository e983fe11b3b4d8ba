import { labelValue, qualifiedName } from "../../../../lib/base/name-rules.ts";
import type { LabelSelector, LabelSelectorRequirement } from "../../../../lib/gen/kubernetes/meta.d.ts";
import { checkLabels } from "../../../../lib/model/validation/metadata.ts";
import type { FieldProblems } from "../../field-problems.ts";

export function checkLabelSelector(
  selector: LabelSelector | undefined,
  at: string,
  problems: FieldProblems,
): void {
  checkLabels(selector?.matchLabels, `${at}.matchLabels`, problems);
  for (const [i, requirement] of (selector?.matchExpressions ?? []).entries()) {
    const path = `${at}.matchExpressions[${i}]`;
    checkOperator(requirement, path, false, problems);
    checkValues(requirement, path, problems);
  }
}

/** Which values an operator needs, and that there is a key. Only nodes are also compared by number. */
export function checkOperator(
  { key = "", operator = "", values = [] }: LabelSelectorRequirement,
  at: string,
  numbers: boolean,
  problems: FieldProblems,
): void {
  if (operator === "In" || operator === "NotIn") {
    if (values.length === 0)
      problems.required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    if (values.length > 0)
      problems.forbidden(
        `${at}.values`,
        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
      );
  } else if (numbers && (operator === "Gt" || operator === "Lt")) {
    if (values.length !== 1)
      problems.required(`${at}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'");
  } else problems.invalid(`${at}.operator`, operator, "not a valid selector operator");
  problems.check(`${at}.key`, key, qualifiedName(key));
}

export function checkValues(
  { values = [] }: LabelSelectorRequirement,
  at: string,
  problems: FieldProblems,
): void {
  for (const [i, value] of values.entries()) problems.check(`${at}.values[${i}]`, value, labelValue(value));
}

/** matchLabelKeys: keys of the pod's own labels, which are already merged into the selector. */
export function checkLabelKeys(
  keys: { readonly match?: readonly string[]; readonly mismatch?: readonly string[] },
  selector: LabelSelector | undefined,
  at: string,
  problems: FieldProblems,
): void {
  const { match = [], mismatch = [] } = keys;
  for (const [field, list] of [
    ["matchLabelKeys", match],
    ["mismatchLabelKeys", mismatch],
  ] as const) {
    if (list.length === 0) continue;
    if (!selector)
      problems.forbidden(`${at}.${field}`, "must not be specified when labelSelector is not set");
    else
      for (const [i, key] of list.entries()) problems.check(`${at}.${field}[${i}]`, key, qualifiedName(key));
  }
  const selected = new Set(Object.keys(selector?.matchLabels ?? {}));
  for (const { key } of selector?.matchExpressions ?? []) {
    const i = match.lastIndexOf(key);
    // The first occurrence was merged in from the key itself.
    if (i >= 0 && selected.has(key))
      problems.invalid(`${at}[${i}]`, key, "exists in both matchLabelKeys and labelSelector");
    selected.add(key);
  }
  for (const [i, key] of match.entries())
    if (mismatch.includes(key))
      problems.invalid(
        `${at}.matchLabelKeys[${i}]`,
        key,
        "exists in both matchLabelKeys and mismatchLabelKeys",
      );
}
