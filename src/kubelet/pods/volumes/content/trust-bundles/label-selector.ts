import { KubeletError } from "../../../../../lib/base/errors.ts";

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}
type Labels = Readonly<Record<string, string>>;

/** No selector matches nothing, an empty one everything. */
export function labelMatcher(selector: LabelSelector | undefined): (labels: Labels | undefined) => boolean {
  if (!selector) return () => false;
  const rules = [
    ...Object.entries(selector.matchLabels ?? {}).map(([key, value]) => ruleOf(key, "In", [value])),
    ...(selector.matchExpressions ?? []).map(({ key, operator, values }) => ruleOf(key, operator, values)),
  ];
  return (labels = {}) => rules.every((rule) => rule(labels));
}

function ruleOf(key: string, operator: string, values: readonly string[] = []): (labels: Labels) => boolean {
  const has = (labels: Labels) => Object.hasOwn(labels, key);
  const isOneOf = (labels: Labels) => has(labels) && values.includes(labels[key] ?? "");
  switch (operator) {
    case "In":
      return isOneOf;
    case "NotIn":
      return (labels) => !isOneOf(labels);
    case "Exists":
      return has;
    case "DoesNotExist":
      return (labels) => !has(labels);
    default:
      throw new KubeletError("LabelSelector", `"${operator}" is not a valid label selector operator`);
  }
}
