import { type Json, type JsonObject, ownValue, setValue } from "./json-value.ts";
import { itemElement, type PathElement } from "./path-element.ts";
import type { ListRule, Rule } from "./rule.ts";
import { fieldRule } from "./schema.ts";
import { allKeys, itemsByElement, pairOf } from "./typed-walk.ts";

/** The live object, overlaid with the applied one. */
export function mergeApplied(live: JsonObject, applied: JsonObject, rule: Rule): JsonObject {
  return (merge(live, applied, rule) ?? {}) as JsonObject;
}

function merge(live: Json | undefined, applied: Json | undefined, rule: Rule): Json | undefined {
  const pair = pairOf(rule, live, applied);
  switch (pair.kind) {
    case "leaf":
      return applied === undefined ? live : applied;
    case "list":
      return mergeItems(pair.rule, pair.left, pair.right);
    case "object": {
      const out: JsonObject = {};
      for (const key of allKeys(pair.left, pair.right)) {
        const value = merge(ownValue(pair.left, key), ownValue(pair.right, key), fieldRule(rule, key));
        if (value !== undefined) setValue(out, key, value);
      }
      return out;
    }
    default:
      return pair satisfies never;
  }
}

function mergeItems(rule: ListRule, live: Json[], applied: Json[]): Json[] {
  const liveItems = live.map((item) => ({ item, element: elementOf(rule, item) }));
  const liveBy = itemsByElement(rule, live);
  const appliedBy = itemsByElement(rule, applied);
  const positions = interleave(
    liveItems.map(({ element }) => element),
    applied.map((item) => elementOf(rule, item)),
  );
  return positions.map((position) => {
    if ("live" in position) return liveItems[position.live]!.item;
    const same = liveBy.get(position.applied);
    const before = same?.length === 1 ? same[0] : undefined;
    return merge(before, appliedBy.get(position.applied)?.[0], rule.items)!;
  });
}

/** An item that cannot be identified equals no other. */
function elementOf(rule: ListRule, item: Json): PathElement {
  const found = itemElement(rule, item);
  return "element" in found ? found.element : `?:${JSON.stringify(item)}`;
}

type Position = { readonly live: number } | { readonly applied: PathElement };

/**
 * Applied items are in the applied order; items of the live list only keep their position before the item that followed
 * them.
 */
export function interleave(live: readonly PathElement[], applied: readonly PathElement[]): Position[] {
  const inLive = new Set(live);
  const inApplied = new Set(applied);
  const order = applied.filter((element) => inLive.has(element));
  const placed = new Set<PathElement>();
  const out: Position[] = [];
  let [l, a, next] = [0, 0, 0];
  while (l < live.length || a < applied.length) {
    const liveElement = live[l];
    const appliedElement = applied[a];
    if (liveElement !== undefined && !inApplied.has(liveElement)) {
      out.push({ live: l++ });
      continue;
    }
    if (
      liveElement !== undefined &&
      appliedElement !== undefined &&
      liveElement !== appliedElement &&
      next < order.length &&
      order[next] !== liveElement
    ) {
      l++; // it is added where the applied list names it
      continue;
    }
    if (liveElement !== undefined && (liveElement === appliedElement || placed.has(liveElement))) l++;
    if (appliedElement === undefined) continue;
    out.push({ applied: appliedElement });
    placed.add(appliedElement);
    if (order[next] === appliedElement) next++;
    a++;
  }
  return out;
}
