import type { Pod } from "../../model/pod.ts";

type Affinity = NonNullable<Pod["spec"]["affinity"]>;
type Required = NonNullable<
  NonNullable<Affinity["nodeAffinity"]>["requiredDuringSchedulingIgnoredDuringExecution"]
>;
type Term = Required["nodeSelectorTerms"][number];
type Requirement = NonNullable<Term["matchExpressions"]>[number];

export interface NodeIdentity {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** True if this is a node that the pod's nodeSelector and required node affinity allow. */
export function matchesNode(pod: Pod, node: NodeIdentity): boolean {
  const { nodeSelector = {}, affinity } = pod.spec;
  if (!Object.entries(nodeSelector).every(([key, value]) => labelOf(node.labels, key) === value))
    return false;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return !required || (required.nodeSelectorTerms ?? []).some((term) => matchesTerm(term, node));
}

/** All of a term has to hold; an empty one matches nothing. */
function matchesTerm({ matchExpressions = [], matchFields = [] }: Term, node: NodeIdentity): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  const fields = { "metadata.name": node.name };
  return (
    matchExpressions.every((requirement) => holds(requirement, labelOf(node.labels, requirement.key))) &&
    matchFields.every((requirement) => holds(requirement, labelOf(fields, requirement.key)))
  );
}

function holds({ operator, values = [] }: Requirement, value: string | undefined): boolean {
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

function labelOf(labels: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}
