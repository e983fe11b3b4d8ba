/**
 * Structural sharing: replaces parts of `newValue` with equal parts of `oldValue`. Most updates change a few
 * fields: the rest is garbage immediately, which is cheap, and callers can compare two versions by
 * identity. Writes into `newValue`; data that is not plain (a Map, a class instance) is left unchanged.
 */
export function shareEqualParts<T>(oldValue: unknown, newValue: T): T {
  if (oldValue === newValue) return oldValue as T;
  if (Array.isArray(newValue)) return Array.isArray(oldValue) ? keepItems(oldValue, newValue) : newValue;
  return isPlain(oldValue) && isPlain(newValue) ? keepFields(oldValue, newValue) : newValue;
}

function keepItems<T extends unknown[]>(oldValue: unknown[], newValue: T): T {
  if (Object.isFrozen(newValue)) return newValue;
  let isSame = oldValue.length === newValue.length;
  for (let i = 0; i < newValue.length; i++) {
    const shared = shareEqualParts(oldValue[i], newValue[i]);
    if (shared !== oldValue[i]) isSame = false;
    newValue[i] = shared;
  }
  return isSame ? (oldValue as T) : newValue;
}

function keepFields<T extends Record<string, unknown>>(oldValue: Record<string, unknown>, newValue: T): T {
  if (Object.isFrozen(newValue)) return newValue;
  const keys = Object.keys(newValue);
  let isSame = keys.length === Object.keys(oldValue).length;
  for (const key of keys) {
    const former = oldValue[key];
    const shared = shareEqualParts(former, newValue[key]);
    if (shared !== former || !Object.hasOwn(oldValue, key)) isSame = false;
    (newValue as Record<string, unknown>)[key] = shared;
  }
  return isSame ? (oldValue as T) : newValue;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
