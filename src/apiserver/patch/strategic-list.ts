import { isObject, type Json, type JsonObject, shownValue } from "./json-value.ts";
import { PatchError } from "./patch-error.ts";
import { withoutDirectives } from "./strategic-take.ts";

/** The field that identifies an item, or "" in a list of values. */
export type PatchKey = string;
type MergeItems = (before: JsonObject, patch: JsonObject) => JsonObject;

/** Merges a list of the patch into the current one. */
export function mergeLists(before: Json[], patch: Json[], key: PatchKey, mergeItems: MergeItems): Json[] {
  if (before.length === 0 && patch.length === 0) return before;
  const kind = kindOfItems([...before, ...patch]);
  if (kind !== "object") {
    const values = [...new Set([...before, ...patch])];
    return ordered(values, patch, before, "");
  }
  if (key === "") throw bad("cannot merge lists without merge key");
  return mergeKeyed(before as JsonObject[], patch as JsonObject[], key, mergeItems);
}

function mergeKeyed(
  before: JsonObject[],
  patch: JsonObject[],
  key: string,
  mergeItems: MergeItems,
): JsonObject[] {
  let list = [...before];
  let replaced = false;
  const changes: JsonObject[] = [];
  for (const item of patch) {
    const directive = Object.hasOwn(item, "$patch") ? item.$patch : undefined;
    if (directive === undefined) changes.push(item);
    else if (directive === "replace") replaced = true;
    else if (directive === "delete") {
      const gone = keyOf(item, key);
      list = list.filter((other) => other[key] !== gone);
    } else if (directive === "merge") throw bad("merging lists cannot yet be specified in the patch");
    else throw bad(`unknown patch type: ${shownValue(directive!)} in map: ${shownValue(item)}`);
  }
  if (replaced) return withoutDirectives(changes) as JsonObject[];
  for (const change of changes) {
    const wanted = keyOf(change, key);
    const at = list.findIndex((other) => other[key] === wanted);
    if (at < 0) list.push(withoutDirectives(change) as JsonObject);
    else list[at] = mergeItems(list[at]!, change);
  }
  return ordered(list, changes, before, key) as JsonObject[];
}

/**
 * Puts a merged list in order: what stands in `wanted` in that order, everything else in the order it had, each item
 * before the first wanted one that it stood before.
 */
export function ordered(merged: Json[], wanted: Json[], before: Json[], key: PatchKey): Json[] {
  const id = (item: Json) => (key === "" ? item : keyOf(item, key));
  const wantedPlace = places(wanted.map(id));
  const oldPlace = places(before.map(id));
  const named = merged.filter((item) => wantedPlace.has(id(item)));
  named.sort((a, b) => wantedPlace.get(id(a))! - wantedPlace.get(id(b))!);
  const others = merged.filter((item) => !wantedPlace.has(id(item)));
  const out: Json[] = [];
  let next = 0;
  for (const item of named) {
    const place = oldPlace.get(id(item));
    while (next < others.length && place !== undefined) {
      const other = oldPlace.get(id(others[next]!));
      if (other === undefined || other > place) break;
      out.push(others[next++]!);
    }
    out.push(item);
  }
  return [...out, ...others.slice(next)];
}

function places(ids: Json[]): Map<Json, number> {
  const out = new Map<Json, number>();
  for (const [i, id] of ids.entries()) if (!out.has(id)) out.set(id, i);
  return out;
}

function keyOf(item: Json, key: string): Json {
  if (isObject(item) && Object.hasOwn(item, key)) return item[key]!;
  throw bad(`map: ${shownValue(item)} does not contain declared merge key: ${key}`);
}

function kindOfItems(items: Json[]): string {
  const kinds = new Set(items.map((item) => (Array.isArray(item) ? "list" : typeof item)));
  if (kinds.has("list")) throw bad("lists of lists are not supported");
  if (kinds.size > 1) throw bad(`list element types are not identical: ${shownValue(items)}`);
  return [...kinds][0]!;
}

function bad(message: string): PatchError {
  return new PatchError("BadRequest", message);
}
