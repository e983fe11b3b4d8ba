import { isObject, type Json, type JsonObject } from "../../lib/base/json-value.ts";
import { compareText } from "./text-order.ts";

export { isObject, type Json, type JsonObject, ownValue } from "../../lib/base/json-value.ts";

/** Sets a key, even "__proto__", which plain assignment would treat as the prototype. */
export function setValue(object: JsonObject, key: string, value: Json): void {
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}

export function cloneJson<T extends Json>(value: T): T {
  if (Array.isArray(value)) return value.map(cloneJson) as T;
  if (!isObject(value)) return value;
  const out: JsonObject = {};
  for (const [key, item] of Object.entries(value)) setValue(out, key, cloneJson(item));
  return out as T;
}

/** `onFields` receives the number of fields that were listed. */
export function jsonEqual(
  left: Json | undefined,
  right: Json | undefined,
  onFields?: (fields: number) => void,
): boolean {
  if (left === right) return true;
  if (Array.isArray(left))
    return (
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((item, i) => jsonEqual(item, right[i], onFields))
    );
  if (!isObject(left) || !isObject(right)) return false;
  const [keys, others] = [Object.keys(left), Object.keys(right)];
  onFields?.(keys.length + others.length);
  return (
    keys.length === others.length &&
    keys.every((key) => Object.hasOwn(right, key) && jsonEqual(left[key], right[key], onFields))
  );
}

/** JSON text with sorted keys: equal values have equal text. */
export function canonicalText(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const fields = Object.keys(value)
    .sort(compareText)
    .map((key) => `${JSON.stringify(key)}:${canonicalText(value[key]!)}`);
  return `{${fields.join(",")}}`;
}

/** A value in Go notation, as in error messages of Kubernetes: map[image:x ports:[80 81]]. */
export function shownValue(value: Json): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(shownValue).join(" ")}]`;
  if (!isObject(value)) return String(value);
  const fields = Object.keys(value)
    .sort(compareText)
    .map((key) => `${key}:${shownValue(value[key]!)}`);
  return `map[${fields.join(" ")}]`;
}

/** Null fields mean the same as missing ones in what this API stores. */
export function withoutNulls<T extends Json>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutNulls) as T;
  if (!isObject(value)) return value;
  const out: JsonObject = {};
  for (const [key, item] of Object.entries(value)) if (item !== null) setValue(out, key, withoutNulls(item));
  return out as T;
}
