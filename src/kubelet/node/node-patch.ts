import { isDeepStrictEqual } from "node:util";
import { isObject } from "../../lib/base/json-value.ts";
import { parseQuantity } from "../../lib/model/quantity.ts";
import { type DiffRules, strategicDiff } from "../../lib/model/strategic-diff.ts";
import { mergeKeys } from "../../lib/schema/merge-keys.ts";
import { core } from "../../lib/schema/types/core/core.ts";
import type { NodeAddress, NodeObject, NodeStatus, ResourceList } from "./node-types.ts";

export const strategicMergePatch = "application/strategic-merge-patch+json";

type Json = Record<string, unknown>;

/** Conditions are in the reference kubelet's order. An empty text is a value only in labels and annotations. */
const statusRules = (): DiffRules => ({
  mergeKeys: mergeKeys(core.struct("NodeStatus")!),
  ordered: ["conditions"],
});
const metadataRules: DiffRules = { keepEmptyText: true };

/**
 * The strategic merge patch from `original` to `desired`; undefined if there is no difference. Conditions are merged by type, so that the
 * conditions of other writers survive. Addresses are replaced as a whole, because two may have the same type.
 */
export function nodePatch(original: NodeObject, desired: NodeObject): Json | undefined {
  const { addresses: oldAddresses, ...oldStatus } = withImageNames(original.status);
  const { addresses, ...status } = withImageNames(desired.status);
  const metadata = ({ labels = {}, annotations = {} }: NodeObject["metadata"]): Json => ({
    labels,
    annotations,
  });
  return compact({
    metadata: compact(strategicDiff(metadata(original.metadata), metadata(desired.metadata), metadataRules)),
    status: compact({
      ...strategicDiff({ ...oldStatus }, { ...status }, statusRules()),
      ...addressesPatch(oldAddresses ?? [], addresses ?? []),
    }),
  });
}

function addressesPatch(before: readonly NodeAddress[], after: readonly NodeAddress[]): Json | undefined {
  if (isDeepStrictEqual(before, after)) return undefined;
  return { addresses: [...after, { $patch: "replace" }] };
}

/** The fields of the status that have changed, with their new values; null for a removed one. A later heartbeat alone is not a change. */
export function changedFields(before: NodeStatus, after: NodeStatus): Json {
  const [old, now] = [comparable(before), comparable(after)];
  const names = new Set([...Object.keys(old), ...Object.keys(now)]);
  return Object.fromEntries(
    [...names]
      .filter((name) => !isDeepStrictEqual(old[name], now[name]))
      .map((name) => [name, now[name] ?? null]),
  );
}

/** An API server returns null for an empty list of names, which an image without a tag has. */
function withImageNames(status: NodeStatus): NodeStatus {
  if (!status.images) return status;
  return { ...status, images: status.images.map((image) => ({ ...image, names: image.names ?? [] })) };
}

function comparable(given: NodeStatus): Json {
  const status = withImageNames(given);
  const conditions = (status.conditions ?? [])
    .map(({ lastHeartbeatTime: _, ...rest }) => rest)
    .sort((a, b) => (a.type < b.type ? -1 : 1));
  return withoutEmpty({
    ...status,
    conditions,
    capacity: amounts(status.capacity),
    allocatable: amounts(status.allocatable),
  }) as Json;
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

/** The API omits what is empty: it is the same as absent. */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;
}

function compact(object: Json): Json | undefined {
  const entries = Object.entries(object).filter(([, value]) => value !== undefined);
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}
