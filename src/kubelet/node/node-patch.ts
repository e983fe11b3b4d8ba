import { isDeepStrictEqual } from "node:util";
import { parseQuantity } from "../../lib/model/quantity.ts";
import type { NodeAddress, NodeCondition, NodeObject, NodeStatus, ResourceList } from "./node-types.ts";

export const strategicMergePatch = "application/strategic-merge-patch+json";

type Json = Record<string, unknown>;

/**
 * The strategic merge patch that makes `wanted` of `original`; undefined if there is nothing to say. Conditions are merged
 * by type, so that those of others survive; addresses are replaced as a whole, for two may have one type.
 */
export function nodePatch(original: NodeObject, wanted: NodeObject): Json | undefined {
  const { conditions: oldConditions, addresses: oldAddresses, ...oldStatus } = original.status;
  const { conditions, addresses, ...status } = wanted.status;
  return compact({
    metadata: compact({
      labels: difference(original.metadata.labels ?? {}, wanted.metadata.labels ?? {}),
      annotations: difference(original.metadata.annotations ?? {}, wanted.metadata.annotations ?? {}),
    }),
    status: compact({
      ...difference(oldStatus, status),
      ...conditionsPatch(oldConditions ?? [], conditions ?? []),
      ...addressesPatch(oldAddresses ?? [], addresses ?? []),
    }),
  });
}

/** Objects by their fields, with null for what is gone; lists and values as they are now. */
function difference(before: Json, after: Json): Json | undefined {
  const patch: Json = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [a, b] = [before[key], after[key]];
    if (isDeepStrictEqual(a, b) || (isEmpty(a) && isEmpty(b))) continue;
    if (b === undefined) patch[key] = null;
    else if (isObject(a) && isObject(b)) patch[key] = difference(a, b);
    else patch[key] = b;
  }
  return compact(patch);
}

function conditionsPatch(
  before: readonly NodeCondition[],
  after: readonly NodeCondition[],
): Json | undefined {
  if (isDeepStrictEqual(before, after)) return undefined;
  const changes: Json[] = [];
  for (const condition of after) {
    const old = before.find(({ type }) => type === condition.type);
    const change = old ? difference({ ...old }, { ...condition }) : { ...condition };
    if (change) changes.push({ ...change, type: condition.type });
  }
  for (const { type } of before)
    if (!after.some((condition) => condition.type === type)) changes.push({ $patch: "delete", type });
  return {
    "$setElementOrder/conditions": after.map(({ type }) => ({ type })),
    ...(changes.length > 0 && { conditions: changes }),
  };
}

function addressesPatch(before: readonly NodeAddress[], after: readonly NodeAddress[]): Json | undefined {
  if (isDeepStrictEqual(before, after)) return undefined;
  return { addresses: [...after, { $patch: "replace" }] };
}

/** True if the status says something new: a later heartbeat alone is not that. */
export function statusChanged(before: NodeStatus, after: NodeStatus): boolean {
  return !isDeepStrictEqual(comparable(before), comparable(after));
}

function comparable(status: NodeStatus): unknown {
  const conditions = (status.conditions ?? [])
    .map(({ lastHeartbeatTime: _, ...rest }) => rest)
    .sort((a, b) => (a.type < b.type ? -1 : 1));
  return withoutEmpty({
    ...status,
    conditions,
    capacity: amounts(status.capacity),
    allocatable: amounts(status.allocatable),
  });
}

/** "1" and "1000m" are the same amount. */
function amounts(list: ResourceList = {}): Json {
  return Object.fromEntries(Object.entries(list).map(([name, text]) => [name, parseQuantity(text) ?? text]));
}

function withoutEmpty(value: unknown): unknown {
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, field]) => [key, withoutEmpty(field)] as const);
  return Object.fromEntries(entries.filter(([, field]) => !isEmpty(field)));
}

/** The API leaves out what is empty: it is the same as absent. */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function compact(object: Json): Json | undefined {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined);
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}
