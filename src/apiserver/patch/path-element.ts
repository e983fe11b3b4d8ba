import { canonicalText, isObject, type Json, type JsonObject } from "./json-value.ts";
import type { ListRule } from "./rule.ts";

/**
 * One step of a path as managedFields spell it: `f:image`, `k:{"name":"web"}` for an item found by its keys, `v:"x"` for a
 * value of a set. Equal steps have equal text.
 */
export type PathElement = string;

export function fieldElement(name: string): PathElement {
  return `f:${name}`;
}

/** The step to an item of an associative list (with keys, or a set); an error if the item cannot be identified. */
export function itemElement(rule: ListRule, item: Json): { element: PathElement } | { error: string } {
  if (rule.list === "set") {
    if (isObject(item)) return { error: "associative list without keys has an element that's a map type" };
    if (Array.isArray(item)) return { error: "not supported: associative list with lists as elements" };
    if (item === null)
      return { error: "associative list without keys has an element that's an explicit null" };
    return { element: `v:${JSON.stringify(item)}` };
  }
  if (item === null) return { error: "associative list with keys may not have a null element" };
  if (!isObject(item)) return { error: "associative list with keys may not have non-map elements" };
  const found: JsonObject = {};
  for (const key of rule.keys) {
    const value = Object.hasOwn(item, key) ? item[key] : rule.defaults[key];
    if (value !== undefined) found[key] = value;
  }
  if (Object.keys(found).length > 0) return { element: `k:${canonicalText(found)}` };
  const names = rule.keys.map((key) => JSON.stringify(key)).join(" ");
  return {
    error: `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
  };
}

/** A path as conflicts show it: .spec.containers[name="web"].image */
export function pathText(path: readonly PathElement[]): string {
  return path.map(elementText).join("");
}

export function elementText(element: PathElement): string {
  const rest = element.slice(2);
  switch (element[0]) {
    case "f":
      return `.${rest}`;
    case "v":
      return `[=${rest}]`;
    case "k": {
      const fields = Object.entries(JSON.parse(rest) as JsonObject);
      return `[${fields.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(",")}]`;
    }
    default:
      return `[${rest}]`;
  }
}
