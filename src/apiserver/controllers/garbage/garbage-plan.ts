import type { OwnerReference } from "../../../lib/gen/kubernetes/meta.d.ts";
import type { ObjectRef } from "../../definition.ts";
import type { ApiObject } from "../../storage/object.ts";
import { refTo } from "../object-ref.ts";

/** An object with the resource that it belongs to. */
export interface Item {
  readonly resource: string;
  readonly object: ApiObject;
}

/** Looks up a kind. Undefined for one that the API does not serve: whether such an owner exists is unknown. */
export type KindOf = (
  apiVersion: string,
  kind: string,
) => { readonly resource: string; readonly namespaced: boolean } | undefined;

export type CollectionStep =
  /** None of its owners still exists. */
  | {
      readonly do: "delete";
      readonly ref: ObjectRef;
      readonly uid: string;
      readonly owners: readonly ObjectRef[];
    }
  /** Some owners exist: the references to the others are removed. */
  | {
      readonly do: "disown";
      readonly ref: ObjectRef;
      readonly uid: string;
      readonly owners: readonly string[];
    }
  /** It no longer waits for dependents: its finalizer is removed. */
  | { readonly do: "release"; readonly ref: ObjectRef; readonly uid: string; readonly finalizer: string };

const foreground = "foregroundDeletion";
const orphan = "orphan";

/** Objects to delete, and finalizers and owner references to remove, because owners are deleted. */
export function planCollection(items: readonly Item[], kindOf: KindOf): CollectionStep[] {
  const byUid = new Map(items.map((item) => [item.object.metadata.uid, item]));
  const steps: CollectionStep[] = [];
  const dependents = new Map<string, { item: Item; blocks: boolean }[]>();
  for (const item of items) {
    const owners = item.object.metadata.ownerReferences ?? [];
    if (owners.length === 0) continue;
    for (const { uid, blockOwnerDeletion } of owners)
      dependents.set(uid, [...(dependents.get(uid) ?? []), { item, blocks: blockOwnerDeletion === true }]);
    const step = stepFor(item, owners, byUid, kindOf);
    if (step !== undefined) steps.push(step);
  }
  for (const item of items) steps.push(...finalize(item, dependents.get(item.object.metadata.uid) ?? []));
  return steps;
}

function stepFor(
  { resource, object }: Item,
  owners: readonly OwnerReference[],
  byUid: ReadonlyMap<string, Item>,
  kindOf: KindOf,
): CollectionStep | undefined {
  if (object.metadata.deletionTimestamp !== undefined) return undefined;
  const namespace = object.metadata.namespace ?? "";
  const missing: OwnerReference[] = [];
  const existing: ObjectRef[] = [];
  for (const owner of owners) {
    const kind = kindOf(owner.apiVersion, owner.kind);
    if (kind === undefined) continue;
    const found = byUid.get(owner.uid);
    // The owner must match the reference, and be cluster-scoped or in the same namespace.
    const where = found?.object.metadata.namespace ?? "";
    const isThere =
      found !== undefined &&
      found.resource === kind.resource &&
      found.object.metadata.name === owner.name &&
      (!kind.namespaced || where === namespace);
    if (isThere) continue;
    missing.push(owner);
    existing.push({ resource: kind.resource, namespace: kind.namespaced ? namespace : "", name: owner.name });
  }
  if (missing.length === 0) return undefined;
  const target = { ref: refTo(resource, object), uid: object.metadata.uid };
  if (missing.length < owners.length)
    return { do: "disown", ...target, owners: missing.map(({ uid }) => uid) };
  return { do: "delete", ...target, owners: existing };
}

/** An owner deleted in the foreground is removed after its dependents; one that orphans them, after their references are removed. */
function finalize(owner: Item, dependents: readonly { item: Item; blocks: boolean }[]): CollectionStep[] {
  const { metadata } = owner.object;
  if (metadata.deletionTimestamp === undefined) return [];
  const target = { ref: refTo(owner.resource, owner.object), uid: metadata.uid };
  if (metadata.finalizers?.includes(orphan)) {
    if (dependents.length === 0) return [{ do: "release", ...target, finalizer: orphan }];
    return dependents.map(({ item }) => ({
      do: "disown",
      ref: refTo(item.resource, item.object),
      uid: item.object.metadata.uid,
      owners: [metadata.uid],
    }));
  }
  if (!metadata.finalizers?.includes(foreground)) return [];
  if (!dependents.some(({ blocks }) => blocks)) return [{ do: "release", ...target, finalizer: foreground }];
  return dependents
    .filter(({ item }) => item.object.metadata.deletionTimestamp === undefined)
    .filter(({ item }) => (item.object.metadata.ownerReferences ?? []).length === 1)
    .map(({ item }) => ({
      do: "delete",
      ref: refTo(item.resource, item.object),
      uid: item.object.metadata.uid,
      owners: [],
    }));
}
