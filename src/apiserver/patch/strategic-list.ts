import { isObject, type Json, type JsonObject, shownValue } from "./json-value.ts";
import { PatchError } from "./patch-error.ts";
import { withoutDirectives } from "./strategic-directives.ts";

/** The field that identifies an item, or "" in a list of values. */
export type PatchKey = string;
type MergeItems = (original: JsonObject, patch: JsonObject) => JsonObject;

/** Merges a list of the patch into the current one. */
export function mergeLists(original: Json[], patch: Json[], key: PatchKey, mergeItems: MergeItems): Json[] {
  if (original.length === 0 && patch.length === 0) return original;
  const kind = kindOfItems([...original, ...patch]);
  if (kind !== "object") {
    const values = [...new Set([...original, ...patch])];
    return ordered(values, patch, original, "");
  }
  if (key === "") throw badRequest("cannot merge lists without merge key");
  return mergeKeyed(original as JsonObject[], patch as JsonObject[], key, mergeItems);
}

function mergeKeyed(
  original: JsonObject[],
  patch: JsonObject[],
  key: string,
  mergeItems: MergeItems,
): JsonObject[] {
  const removed = new Set<Json>();
  let replaced = false;
  const changes: JsonObject[] = [];
  for (const item of patch) {
    const directive = Object.hasOwn(item, "$patch") ? item.$patch : undefined;
    if (directive === undefined) changes.push(item);
    else if (directive === "replace") replaced = true;
    else if (directive === "delete") removed.add(keyOf(item, key));
    else if (directive === "merge") throw badRequest("merging lists cannot yet be specified in the patch");
    else throw badRequest(`unknown patch type: ${shownValue(directive!)} in map: ${shownValue(item)}`);
  }
  if (replaced) return withoutDirectives(changes) as JsonObject[];
  const list = original.filter((item) => !removed.has(item[key]!));
  const positions = indexOf(list.map((item) => item[key]!));
  for (const change of changes) {
    const wanted = keyOf(change, key);
    const at = positions.get(wanted);
    if (at !== undefined) list[at] = mergeItems(list[at]!, change);
    else {
      positions.set(wanted, list.length);
      list.push(withoutDirectives(change) as JsonObject);
    }
  }
  return ordered(list, changes, original, key) as JsonObject[];
}

/**
 * Orders a merged list: items of `wanted` in that order, all others in their previous order, each before the first
 * wanted item that followed it.
 */
export function ordered(merged: Json[], wanted: Json[], original: Json[], key: PatchKey): Json[] {
  const id = (item: Json) => (key === "" ? item : keyOf(item, key));
  const wantedIndex = indexOf(wanted.map(id));
  const oldIndex = indexOf(original.map(id));
  const named = merged.filter((item) => wantedIndex.has(id(item)));
  named.sort((a, b) => wantedIndex.get(id(a))! - wantedIndex.get(id(b))!);
  const others = merged.filter((item) => !wantedIndex.has(id(item)));
  const out: Json[] = [];
  let next = 0;
  for (const item of named) {
    const index = oldIndex.get(id(item));
    while (next < others.length && index !== undefined) {
      const other = oldIndex.get(id(others[next]!));
      if (other === undefined || other > index) break;
      out.push(others[next++]!);
    }
    out.push(item);
  }
  return [...out, ...others.slice(next)];
}

function indexOf(ids: Json[]): Map<Json, number> {
  const out = new Map<Json, number>();
  for (const [i, id] of ids.entries()) if (!out.has(id)) out.set(id, i);
  return out;
}

function keyOf(item: Json, key: string): Json {
  if (isObject(item) && Object.hasOwn(item, key)) return item[key]!;
  throw badRequest(`map: ${shownValue(item)} does not contain declared merge key: ${key}`);
}

function kindOfItems(items: Json[]): string {
  const kinds = new Set(items.map((item) => (Array.isArray(item) ? "list" : typeof item)));
  if (items.includes(null)) throw badRequest("null is no element of a list");
  if (kinds.has("list")) throw badRequest("lists of lists are not supported");
  if (kinds.size > 1) throw badRequest(`list element types are not identical: ${shownValue(items)}`);
  return [...kinds][0]!;
}

function badRequest(message: string): PatchError {
  return new PatchError("BadRequest", message);
}
