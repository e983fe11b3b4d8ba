import { isObject, type Json, type JsonObject, ownValue, setValue, shownValue } from "./json-value.ts";
import { PatchError } from "./patch-error.ts";
import type { ListRule, Rule } from "./rule.ts";
import { fieldRule, type Schema } from "./schema.ts";
import { withoutDirectives } from "./strategic-directives.ts";
import { mergeLists, ordered, type PatchKey } from "./strategic-list.ts";

const orderPrefix = "$setElementOrder";
const removalPrefix = "$deleteFromPrimitiveList";

/**
 * Strategic Merge Patch: objects merge, null removes, lists merge by key where the type defines one. Inputs are not
 * modified.
 */
export function strategicMergePatch(original: JsonObject, patch: Json, schema: Schema): JsonObject {
  if (!isObject(patch)) throw new PatchError("BadRequest", "invalid JSON document");
  return mergeObjects(original, patch, schema.root);
}

function mergeObjects(original: JsonObject, patch: JsonObject, rule: Rule): JsonObject {
  const directive = ownValue(patch, "$patch");
  if (directive !== undefined) {
    const { $patch: _, ...rest } = patch;
    if (directive === "replace") return withoutDirectives(rest) as JsonObject;
    if (directive === "delete") return {};
    throw badRequest(`unknown patch type: ${shownValue(directive)} in map: ${shownValue(patch)}`);
  }
  const out = retained(original, patch);
  const done = new Set<string>(["$retainKeys"]);
  for (const [key, order] of Object.entries(patch)) {
    if (!key.startsWith(orderPrefix)) continue;
    const field = fieldOf(key, orderPrefix, "invalid patch format of setElementOrder list");
    done.add(key).add(field);
    mergeInOrder(out, patch, field, order, fieldRule(rule, field));
  }
  for (const [key, value] of Object.entries(patch)) {
    if (!key.startsWith(removalPrefix)) continue;
    const field = fieldOf(key, removalPrefix, "invalid patch format of primitive list");
    done.add(key);
    removeValues(out, field, value);
  }
  for (const [key, value] of Object.entries(patch))
    if (!done.has(key)) mergeField(out, key, value, fieldRule(rule, key));
  return out;
}

function mergeField(out: JsonObject, key: string, value: Json, rule: Rule): void {
  const original = ownValue(out, key);
  if (value === null) delete out[key];
  else if (isObject(original) && isObject(value)) setValue(out, key, mergeObjects(original, value, rule));
  else if (Array.isArray(original) && Array.isArray(value) && mergeKeyOf(rule) !== undefined)
    setValue(out, key, mergeLists(original, value, mergeKeyOf(rule)!, itemsMerger(rule)));
  else {
    const cleaned = withoutDirectives(value);
    if (cleaned === undefined) delete out[key];
    else setValue(out, key, cleaned);
  }
}

/** The key by which patches merge the list, "" for a list of values, undefined for a list that is replaced. */
function mergeKeyOf(rule: Rule): PatchKey | undefined {
  return rule.kind === "list" && rule.patch.strategy === "merge" ? rule.patch.key : undefined;
}

function itemsMerger(rule: Rule) {
  const items = (rule as ListRule).items;
  return (original: JsonObject, patch: JsonObject) => mergeObjects(original, patch, items);
}

/** `$retainKeys` names all fields that may remain, which include all that the patch sets. */
function retained(original: JsonObject, patch: JsonObject): JsonObject {
  const keep = ownValue(patch, "$retainKeys");
  if (keep === undefined) return { ...original };
  if (!Array.isArray(keep)) throw badRequest("invalid patch format of retainKeys");
  const kept = new Set(keep);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || key === "$retainKeys") continue;
    if (key.startsWith(removalPrefix) || key.startsWith(orderPrefix)) continue;
    if (!kept.has(key)) throw badRequest("invalid patch format of retainKeys");
  }
  return Object.fromEntries(Object.entries(original).filter(([key]) => kept.has(key)));
}

/** `$setElementOrder/x` and the patch of x in one step: the order applies to the merged list. */
function mergeInOrder(out: JsonObject, patch: JsonObject, field: string, order: Json, rule: Rule): void {
  if (!Array.isArray(order)) throw badRequest("invalid patch format of setElementOrder list");
  const original = ownValue(out, field);
  const change = ownValue(patch, field);
  const key = mergeKeyOf(rule);
  if (change !== undefined && !Array.isArray(change)) return mergeField(out, field, change, rule); // null: the list is removed, and its order is ignored
  if (original !== undefined && !Array.isArray(original)) throw badRequest(`expected a list in ${field}`);
  if (key === undefined) {
    if (change) mergeField(out, field, change, rule);
    return;
  }
  checkOrder(change ?? [], order, key);
  if (change) mergeField(out, field, change, rule);
  const merged = ownValue(out, field);
  if (Array.isArray(merged)) setValue(out, field, ordered(merged, order, original ?? [], key));
}

/** Items that the patch adds or changes must be in the order list, in the same order. */
function checkOrder(change: Json[], order: Json[], key: PatchKey): void {
  if (change.length === 0 || order.length === 0) return;
  let at = 0;
  for (const item of change) {
    if (isObject(item) && Object.hasOwn(item, "$patch")) continue;
    const id = key === "" ? item : itemKey(item, key);
    while (at < order.length && (key === "" ? order[at] : itemKey(order[at]!, key)) !== id) at++;
    if (at++ >= order.length)
      throw badRequest(
        `The order in patch list:\n${shownValue(change)}\n doesn't match $setElementOrder list:\n${shownValue(order)}\n`,
      );
  }
}

function itemKey(item: Json, key: string): Json {
  if (isObject(item) && Object.hasOwn(item, key)) return item[key]!;
  throw badRequest(`map: ${shownValue(item)} does not contain declared merge key: ${key}`);
}

/** `$deleteFromPrimitiveList/x` works on any list of values, regardless of its strategy. */
function removeValues(out: JsonObject, field: string, values: Json): void {
  const original = ownValue(out, field);
  if (!Array.isArray(values)) throw badRequest("invalid patch format of primitive list");
  if (!Array.isArray(original)) return;
  const removed = new Set(values);
  setValue(
    out,
    field,
    original.filter((item) => !removed.has(item)),
  );
}

function fieldOf(key: string, prefix: string, message: string): string {
  const slash = key.indexOf("/");
  if (slash < 0 || key.slice(0, slash) !== prefix) throw badRequest(message);
  return key.slice(slash + 1);
}

function badRequest(message: string): PatchError {
  return new PatchError("BadRequest", message);
}
