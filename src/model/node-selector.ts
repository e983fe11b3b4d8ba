/** Which nodes a pod, or a volume, is content with. */
export interface NodeTerm {
  readonly matchExpressions?: readonly Requirement[];
  readonly matchFields?: readonly Requirement[];
}

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface NodeIdentity {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

type Labels = Readonly<Record<string, string>>;

/** Terms are alternatives. All of a term has to hold; an empty one matches nothing. */
export function matchesTerms(terms: readonly NodeTerm[], node: NodeIdentity): boolean {
  return terms.some(({ matchExpressions = [], matchFields = [] }) => {
    if (matchExpressions.length + matchFields.length === 0) return false;
    const fields = { "metadata.name": node.name };
    return (
      matchExpressions.every((requirement) => meets(requirement, node.labels)) &&
      matchFields.every((requirement) => meets(requirement, fields))
    );
  });
}

/** True if all of the labels of a nodeSelector are there. */
export function matchesLabels(wanted: Labels | undefined, labels: Labels): boolean {
  return Object.entries(wanted ?? {}).every(([key, value]) => labelOf(labels, key) === value);
}

function meets({ key, operator, values = [] }: Requirement, labels: Labels): boolean {
  const value = labelOf(labels, key);
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "Gt":
    case "Lt": {
      const [own, bound] = [integer(value), integer(values[0])];
      if (own === undefined || bound === undefined) return false;
      return operator === "Gt" ? own > bound : own < bound;
    }
    default:
      return false;
  }
}

function integer(text: string | undefined): bigint | undefined {
  return text !== undefined && /^[+-]?\d+$/.test(text) ? BigInt(text.replace("+", "")) : undefined;
}

function labelOf(labels: Labels, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
