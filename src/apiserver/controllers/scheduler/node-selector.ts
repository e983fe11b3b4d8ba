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

interface NodeIdentity {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Terms are alternatives; a term without requirements matches nothing. */
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

export function matchesLabels(
  wanted: Readonly<Record<string, string>> | undefined,
  labels: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(wanted ?? {}).every(([key, value]) => labels[key] === value);
}

function meets(
  { key, operator, values = [] }: Requirement,
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
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
      const [left, right] = [integer(value), integer(values[0])];
      if (left === undefined || right === undefined) return false;
      return operator === "Gt" ? left > right : left < right;
    }
    default:
      return false;
  }
}

function integer(text: string | undefined): bigint | undefined {
  return text !== undefined && /^-?\d+$/.test(text) ? BigInt(text) : undefined;
}
