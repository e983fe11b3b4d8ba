/**
 * Structural sharing: parts of `after` that equal those of `before` are replaced by them. Most updates change a few
 * fields: the rest is garbage immediately, which is cheap, and callers can compare two versions by
 * identity. Writes into `after`; data that is not plain (a Map, a class instance) is left unchanged.
 */
export function shareEqualParts<T>(before: unknown, after: T): T {
  if (before === after) return before as T;
  if (Array.isArray(after)) return Array.isArray(before) ? keepItems(before, after) : after;
  return isPlain(before) && isPlain(after) ? keepFields(before, after) : after;
}

function keepItems<T extends unknown[]>(before: unknown[], after: T): T {
  if (Object.isFrozen(after)) return after;
  let isSame = before.length === after.length;
  for (let i = 0; i < after.length; i++) {
    const kept = shareEqualParts(before[i], after[i]);
    if (kept !== before[i]) isSame = false;
    after[i] = kept;
  }
  return isSame ? (before as T) : after;
}

function keepFields<T extends Record<string, unknown>>(before: Record<string, unknown>, after: T): T {
  if (Object.isFrozen(after)) return after;
  const keys = Object.keys(after);
  let isSame = keys.length === Object.keys(before).length;
  for (const key of keys) {
    const former = before[key];
    const kept = shareEqualParts(former, after[key]);
    if (kept !== former || !Object.hasOwn(before, key)) isSame = false;
    (after as Record<string, unknown>)[key] = kept;
  }
  return isSame ? (before as T) : after;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
