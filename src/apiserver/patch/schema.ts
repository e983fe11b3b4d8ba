import { type Field, type FieldType, underlying } from "../../lib/schema/field-type.ts";
import { kindType } from "../../lib/schema/packages.ts";
import { meta } from "../../lib/schema/types/meta.ts";
import type { Json } from "./json-value.ts";
import { atomic, map, plain, type Rule, struct } from "./rule.ts";

/** The merge rules of a kind. */
export interface Schema {
  readonly apiVersion: string;
  readonly kind: string;
  readonly root: Rule;
}

/** A kind that is not in the tables has the metadata that all kinds have, and plain fields. */
export function schemaFor(apiVersion: string, kind: string): Schema {
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  const type = kindType(group, version, kind) ?? meta.struct("PartialObjectMetadata")!;
  return { apiVersion, kind, root: struct(type) };
}

const rules = new Map<Field, Rule>();

/** The rule of a field, given the rule of its parent. */
export function fieldRule(rule: Rule, name: string): Rule {
  if (rule.kind === "atomic") return atomic;
  const field = rule.kind === "struct" ? rule.type.fields.get(name) : undefined;
  if (!field) return plain;
  const known = rules.get(field) ?? ruleOf(field);
  rules.set(field, known);
  return known;
}

/** True if the fields of such an object belong to its type, and are not entries of a map. */
export function hasNamedFields(rule: Rule): boolean {
  return rule.kind === "struct" || rule.kind === "plain";
}

function ruleOf(field: Field): Rule {
  const type = underlying(field.type);
  if (field.map === "atomic") return atomic;
  if (type.kind === "map") return map;
  return type.kind === "list" ? listRule(field, type.items) : itemRule(type);
}

function itemRule(type: FieldType): Rule {
  if (type.kind !== "struct") return plain;
  return type.atomic ? atomic : struct(type);
}

function listRule(field: Field, items: FieldType): Rule {
  const merge = field.mergeKey;
  if (field.list === "atomic" && merge === undefined) return plain;
  return {
    kind: "list",
    list: field.list === "map" ? "keyed" : field.list,
    keys: field.keys,
    defaults: keyDefaults(field.keys, items),
    items: field.list === "map" ? itemRule(items) : plain,
    patch: merge === undefined ? { strategy: "replace" } : { strategy: "merge", key: merge },
  };
}

function keyDefaults(keys: readonly string[], items: FieldType): Record<string, Json> {
  if (items.kind !== "struct") return {};
  return Object.fromEntries(
    keys.flatMap((key) => {
      const given = items.fields.get(key)?.default;
      return given === undefined ? [] : [[key, given]];
    }),
  );
}
