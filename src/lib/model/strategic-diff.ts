import { isObject } from "../base/json-value.ts";

export type Fields = Record<string, unknown>;

export interface DiffRules {
  /** Lists that are merged, by field, with their merge key. Other lists are replaced as a whole. */
  readonly mergeKeys?: Readonly<Record<string, string>>;
  /** Those of them whose order matters. */
  readonly ordered?: readonly string[];
  /** True: an empty text is a value, as in labels. Otherwise it is the same as no such field. */
  readonly keepEmptyText?: boolean;
}

/** The strategic merge patch from `oldFields` to `newFields`. */
export function strategicDiff(oldFields: Fields, newFields: Fields, rules: DiffRules = {}): Fields {
  const { mergeKeys = {}, ...nested } = rules;
  const patch: Fields = {};
  for (const field in { ...oldFields, ...newFields }) {
    const old = oldFields[field];
    const now = newFields[field];
    if (isSame(old, now, rules)) continue;
    const key = mergeKeys[field];
    // Of objects and merged lists only known entries are removed: other writers may have added to them.
    if (key && Array.isArray(old) && Array.isArray(now))
      Object.assign(patch, listDiff(field, key, old, now, rules));
    else if (isObject(old) && isObject(now)) patch[field] = strategicDiff(old, now, nested);
    else if (isAbsent(now, rules)) patch[field] = null;
    else if (isAbsent(old, rules)) patch[field] = now;
    else patch[field] = now;
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

/** In the API, null, an empty list and an empty object are all the same as no such field. */
function isAbsent(value: unknown, { keepEmptyText }: DiffRules): boolean {
  if (value === null || value === undefined || (value === "" && !keepEmptyText)) return true;
  if (typeof value !== "object") return false;
  for (const _ in value) return false;
  return true;
}

function isSame(a: unknown, b: unknown, rules: DiffRules): boolean {
  if (a === b) return true;
  if (isAbsent(a, rules) || isAbsent(b, rules)) return isAbsent(a, rules) && isAbsent(b, rules);
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => isSame(item, b[i], rules));
  if (!isObject(a) || !isObject(b)) return false;
  for (const field in a) if (!isSame(a[field], b[field], rules)) return false;
  for (const field in b) if (!Object.hasOwn(a, field) && !isAbsent(b[field], rules)) return false;
  return true;
}
