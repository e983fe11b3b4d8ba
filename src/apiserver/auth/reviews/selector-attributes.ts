import type {
  FieldSelectorAttributes,
  LabelSelectorAttributes,
} from "../../../lib/gen/kubernetes/authorization.d.ts";
import type { FieldProblems } from "../../kinds/field-problems.ts";

type SelectorAttributes = FieldSelectorAttributes | LabelSelectorAttributes;

export function selectorProblems(
  selector: SelectorAttributes | undefined,
  path: string,
  problems: FieldProblems,
): void {
  if (!selector) return;
  const { rawSelector = "", requirements = [] } = selector;
  if (rawSelector && requirements.length > 0)
    problems.invalid(
      `${path}.rawSelector`,
      rawSelector,
      "may not specified at the same time as requirements",
    );
  if (!rawSelector && requirements.length === 0)
    problems.required(
      `${path}.requirements`,
      `when ${path} is specified, requirements or rawSelector is required`,
    );
  for (const [i, { key }] of requirements.entries())
    if (!key) problems.required(`${path}.requirements[${i}].key`, "must be specified");
}

/**
 * The selector as the value of a fieldSelector query parameter. Requirements that cannot be expressed are omitted, which only widens the check.
 */
export function fieldSelectorText(selector: SelectorAttributes | undefined): {
  text: string;
  problem?: string;
} {
  if (!selector) return { text: "" };
  if (selector.rawSelector) return { text: selector.rawSelector };
  const requirements = selector.requirements ?? [];
  const selectors = requirements.flatMap(({ key = "", operator = "", values = [] }) => {
    const [value] = values;
    const sign = { In: "=", NotIn: "!=" }[operator];
    return sign && value !== undefined && values.length === 1 ? [`${key}${sign}${escaped(value)}`] : [];
  });
  const text = selectors.join(",");
  if (selectors.length === requirements.length) return { text };
  const partially = selectors.length > 0 ? "partially " : "";
  return {
    text,
    problem: `spec.resourceAttributes.fieldSelector ${partially}ignored due to parse error`,
  };
}

function escaped(value: string): string {
  return value.replace(/[\\,=]/g, (char) => `\\${char}`);
}
