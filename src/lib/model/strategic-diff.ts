import { isObject } from "../base/json-value.ts";

export type Fields = Record<string, unknown>;

export interface DiffRules {
  /** Lists that are merged, by field, with their merge key. Other lists are replaced as a whole. */
  readonly mergeKeys?: Readonly<Record<string, string>>;
  /** The lists whose order matters. */
  readonly ordered?: readonly string[];
  /** True: an empty text is a value, as in labels. Otherwise it equals a missing field. */
  readonly keepEmptyText?: boolean;
  /** Fields whose empty object is a value. Otherwise it equals a missing field. */
  readonly keepEmptyObject?: readonly string[];
}

/** The strategic merge patch from `oldFields` to `newFields`. */
export function strategicDiff(oldFields: Fields, newFields: Fields, rules: DiffRules = {}): Fields {
  const { mergeKeys = {}, ...nested } = rules;
  const patch: Fields = {};
  for (const field in { ...oldFields, ...newFields }) {
    const old = oldFields[field];
    const now = newFields[field];
    if (isSame(old, now, rules, field)) continue;
    const key = mergeKeys[field];
    // In objects and merged lists, only known entries are removed: other writers may have added entries.
    if (key && Array.isArray(old) && Array.isArray(now))
      Object.assign(patch, listDiff(field, key, old, now, rules));
    else if (isObject(old) && isObject(now)) patch[field] = strategicDiff(old, now, nested);
    else patch[field] = isAbsent(now, rules, field) ? null : now;
  }
  return patch;
}

function listDiff(
  field: string,
  key: string,
  oldFields: Fields[],
  newFields: Fields[],
  rules: DiffRules,
): Fields {
  const { mergeKeys: _, ...nested } = rules;
  const items: Fields[] = [];
  for (const item of newFields) {
    const old = oldFields.find((b) => b[key] === item[key]);
    const changed = old ? strategicDiff(old, item, nested) : item;
    if (Object.keys(changed).length > 0) items.push({ ...changed, [key]: item[key] });
  }
  for (const old of oldFields)
    if (!newFields.some((a) => a[key] === old[key])) items.push({ $patch: "delete", [key]: old[key] });
  const order = (list: Fields[]) => list.map((item) => item[key]).join("\n");
  const moved = rules.ordered?.includes(field) && order(oldFields) !== order(newFields);
  if (items.length === 0 && !moved) return {};
  return {
    [`$setElementOrder/${field}`]: newFields.map((item) => ({ [key]: item[key] })),
    ...(items.length > 0 ? { [field]: items } : {}),
  };
}

/** True for a value that means the same as a missing field: in the API null, an empty list and an empty object mostly do. */
function isAbsent(value: unknown, rules: DiffRules, field: string | undefined): boolean {
  if (value === null || value === undefined || (value === "" && !rules.keepEmptyText)) return true;
  if (typeof value !== "object") return false;
  for (const _ in value) return false;
  return Array.isArray(value) || field === undefined || !rules.keepEmptyObject?.includes(field);
}

function isSame(a: unknown, b: unknown, rules: DiffRules, field?: string): boolean {
  if (a === b) return true;
  if (isAbsent(a, rules, field) || isAbsent(b, rules, field))
    return isAbsent(a, rules, field) && isAbsent(b, rules, field);
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => isSame(item, b[i], rules));
  if (!isObject(a) || !isObject(b)) return false;
  for (const name in a) if (!isSame(a[name], b[name], rules, name)) return false;
  for (const name in b) if (!Object.hasOwn(a, name) && !isAbsent(b[name], rules, name)) return false;
  return true;
}
