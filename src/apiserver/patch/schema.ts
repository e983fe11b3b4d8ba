import { atomic, plain, type Rule, struct } from "./rule.ts";
import { kindTypes, typeRules } from "./schema-table.ts";

/** What is known of a kind of object. */
export interface Schema {
  readonly apiVersion: string;
  readonly kind: string;
  readonly root: Rule;
}

const metadataOnly = "PriorityClass";

/** A kind that is not in the table has metadata as all have, and plain fields. */
export function schemaFor(apiVersion: string, kind: string): Schema {
  return { apiVersion, kind, root: struct(kindTypes[`${apiVersion}/${kind}`] ?? metadataOnly) };
}

/** The rule of a field of something that has this rule. */
export function fieldRule(rule: Rule, field: string): Rule {
  if (rule.kind === "atomic") return atomic;
  if (rule.kind !== "struct") return plain;
  const rules = typeRules[rule.type];
  return rules && Object.hasOwn(rules, field) ? rules[field]! : plain;
}

/** True if the fields of such an object belong to its type, and are not entries of a map. */
export function hasNamedFields(rule: Rule): boolean {
  return rule.kind === "struct" || rule.kind === "plain";
}
