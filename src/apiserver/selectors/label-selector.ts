import { KubeletError } from "../../lib/base/errors.ts";
import { labelValue, qualifiedName } from "../../lib/base/name-rules.ts";
import type { LabelSelector as LabelSelectorObject } from "../../lib/gen/kubernetes/meta.d.ts";

export type Labels = Readonly<Record<string, string>>;

/** One requirement. "in" is also used for "=" and "==", "notin" for "!=". */
export type LabelRequirement =
  | { readonly operator: "in" | "notin"; readonly key: string; readonly values: readonly string[] }
  | { readonly operator: "exists" | "!"; readonly key: string }
  | { readonly operator: "gt" | "lt"; readonly key: string; readonly value: string };

/** All requirements must match. None: everything matches. "nothing": no object does. */
export type LabelSelector = readonly LabelRequirement[] | "nothing";

export function matchesLabels(selector: LabelSelector, labels: Labels | undefined): boolean {
  if (selector === "nothing") return false;
  return selector.every((requirement) => isMet(requirement, labels ?? {}));
}

function isMet(requirement: LabelRequirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
  switch (requirement.operator) {
    case "in":
      return value !== undefined && requirement.values.includes(value);
    case "notin":
      return value === undefined || !requirement.values.includes(value);
    case "exists":
      return value !== undefined;
    case "!":
      return value === undefined;
    case "gt":
    case "lt": {
      if (value === undefined || !isInteger(value)) return false;
      const [labelNumber, requiredNumber] = [BigInt(value), BigInt(requirement.value)];
      return requirement.operator === "gt" ? labelNumber > requiredNumber : labelNumber < requiredNumber;
    }
    default:
      return requirement satisfies never;
  }
}

/** The selector of an object. An absent one selects nothing, an empty one everything. */
export function labelSelectorOf(object: LabelSelectorObject | null | undefined): LabelSelector {
  if (!object) return "nothing";
  const labels = Object.entries(object.matchLabels ?? {}).map(([key, value]) =>
    labelRequirement(key, "in", [value]),
  );
  const expressions = (object.matchExpressions ?? []).map(({ key, operator, values = [] }) => {
    const known = Object.hasOwn(objectOperators, operator) ? objectOperators[operator] : undefined;
    if (!known) throw badRequest(`${JSON.stringify(operator)} is not a valid label selector operator`);
    return labelRequirement(key, known, values);
  });
  return [...labels, ...expressions];
}

const objectOperators: Readonly<Record<string, LabelRequirement["operator"]>> = {
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "!",
};

/** Validates and builds one requirement. */
export function labelRequirement(
  key: string,
  operator: LabelRequirement["operator"],
  values: readonly string[],
): LabelRequirement {
  checkKey(key, "key");
  const shown = `values: Invalid value: ${JSON.stringify(values)}`;
  for (const [i, value] of values.entries()) {
    const messages = labelValue(value);
    if (messages.length > 0)
      throw badRequest(
        `values[${i}][${key}]: Invalid value: ${JSON.stringify(value)}: ${messages.join("; ")}`,
      );
  }
  switch (operator) {
    case "in":
    case "notin":
      if (values.length === 0)
        throw badRequest(`${shown}: for 'in', 'notin' operators, values set can't be empty`);
      return { key, operator, values };
    case "exists":
    case "!":
      if (values.length > 0)
        throw badRequest(`${shown}: values set must be empty for exists and does not exist`);
      return { key, operator };
    case "gt":
    case "lt": {
      const [value] = values;
      if (value === undefined || values.length !== 1)
        throw badRequest(`${shown}: for 'Gt', 'Lt' operators, exactly one value is required`);
      if (!isInteger(value))
        throw badRequest(
          `values[0]: Invalid value: ${JSON.stringify(value)}: for 'Gt', 'Lt' operators, the value must be an integer`,
        );
      return { key, operator, value };
    }
    default:
      return operator satisfies never;
  }
}

export function checkKey(key: string, path: string): void {
  const messages = qualifiedName(key);
  if (messages.length > 0)
    throw badRequest(`${path}: Invalid value: ${JSON.stringify(key)}: ${messages.join("; ")}`);
}

/** A decimal number of 64 bits. */
function isInteger(text: string): boolean {
  if (!/^[+-]?\d+$/.test(text)) return false;
  const value = BigInt(text.replace(/^\+/, ""));
  return BigInt.asIntN(64, value) === value;
}

function badRequest(message: string): KubeletError {
  return new KubeletError("BadRequest", message);
}
