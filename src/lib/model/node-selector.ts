import type {
  NodeSelectorRequirement,
  NodeSelectorTerm,
  VolumeNodeAffinity,
} from "../gen/kubernetes/core.d.ts";

export interface NodeIdentity {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

type Labels = Readonly<Record<string, string>>;

/** Why a node is not selected, for messages: "zone In [east, west]: the node has zone=north". */
export function unmetTerms(terms: readonly NodeSelectorTerm[], node: NodeIdentity): string {
  if (terms.length === 0) return "no terms, which match no node";
  return terms
    .map(({ matchExpressions = [], matchFields = [] }) => {
      const byLabel = matchExpressions.find((requirement) => !meets(requirement, node.labels));
      if (byLabel) return `${requirementText(byLabel)}: ${labelText(node.labels, byLabel.key)}`;
      const byField = matchFields.find((requirement) => !meets(requirement, { "metadata.name": node.name }));
      return byField
        ? `${requirementText(byField)}: the node is ${node.name}`
        : "an empty term, which matches no node";
    })
    .join(", or ");
}

/** The same for a nodeSelector: "disk=ssd: the node has no label disk". */
export function unmetLabels(selector: Labels | undefined, labels: Labels): string | undefined {
  const unmet = Object.entries(selector ?? {}).filter(([key, value]) => labelOf(labels, key) !== value);
  if (unmet.length === 0) return undefined;
  return unmet.map(([key, value]) => `${key}=${value}: ${labelText(labels, key)}`).join(", ");
}

function requirementText({ key, operator, values = [] }: NodeSelectorRequirement): string {
  return values.length === 0 ? `${key} ${operator}` : `${key} ${operator} [${values.join(", ")}]`;
}

function labelText(labels: Labels, key: string): string {
  const value = labelOf(labels, key);
  return value === undefined ? `the node has no label ${key}` : `the node has ${key}=${value}`;
}

/** Terms are ORed, the requirements of a term are ANDed; an empty term matches nothing. */
export function matchesTerms(terms: readonly NodeSelectorTerm[], node: NodeIdentity): boolean {
  return terms.some(({ matchExpressions = [], matchFields = [] }) => {
    if (matchExpressions.length + matchFields.length === 0) return false;
    const fields = { "metadata.name": node.name };
    return (
      matchExpressions.every((requirement) => meets(requirement, node.labels)) &&
      matchFields.every((requirement) => meets(requirement, fields))
    );
  });
}

/** True if the node has all labels of a nodeSelector. */
export function matchesLabels(selector: Labels | undefined, labels: Labels): boolean {
  return Object.entries(selector ?? {}).every(([key, value]) => labelOf(labels, key) === value);
}

function meets({ key, operator, values = [] }: NodeSelectorRequirement, labels: Labels): boolean {
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

/** Why a PersistentVolume with this nodeAffinity cannot be used on a node; undefined if it can. */
export function nodeAffinityConflict(affinity: unknown, node: NodeIdentity): string | undefined {
  const { required } = (affinity ?? {}) as VolumeNodeAffinity;
  if (!required || matchesTerms(required.nodeSelectorTerms ?? [], node)) return undefined;
  return "no matching NodeSelectorTerms";
}
