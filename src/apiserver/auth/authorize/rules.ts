import type { Attributes } from "../../access.ts";

/** A permission, in the form in which rules reviews show it. */
export type Rule = ResourceRule | PathRule;

export interface ResourceRule {
  readonly verbs: readonly string[];
  readonly groups: readonly string[];
  /** With the subresource: "pods", "pods/status". */
  readonly resources: readonly string[];
}

export interface PathRule {
  readonly verbs: readonly string[];
  /** "/apis", or "/apis/*" for all below. */
  readonly paths: readonly string[];
}

export function ruleAllows(rule: Rule, attributes: Attributes): boolean {
  if (!has(rule.verbs, attributes.verb)) return false;
  if ("paths" in rule)
    return attributes.path !== undefined && rule.paths.some((path) => covers(path, attributes.path!));
  if (attributes.path !== undefined) return false;
  const resource = attributes.subresource
    ? `${attributes.resource}/${attributes.subresource}`
    : attributes.resource;
  return has(rule.groups, attributes.group) && has(rule.resources, resource);
}

function has(list: readonly string[], value: string): boolean {
  return list.includes("*") || list.includes(value);
}

function covers(pattern: string, path: string): boolean {
  return pattern.endsWith("*") ? path.startsWith(pattern.slice(0, -1)) : pattern === path;
}
