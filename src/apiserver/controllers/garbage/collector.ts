import { httpStatusOf } from "../../../lib/base/errors.ts";
import type { Objects } from "../../definition.ts";
import type { ObjectCache } from "../object-cache.ts";
import { type CollectionStep, type Item, type KindOf, planCollection } from "./garbage-plan.ts";

export interface CollectorOptions {
  readonly objects: Objects;
  readonly cache: ObjectCache;
  readonly resources: readonly string[];
  readonly kindOf: KindOf;
}

/** Deletes objects whose owners are gone. */
export async function collectGarbage(options: CollectorOptions): Promise<void> {
  const { cache, resources, kindOf } = options;
  const items: Item[] = resources.flatMap((resource) =>
    cache.all(resource).map((object) => ({ resource, object })),
  );
  for (const step of planCollection(items, kindOf)) await execute(step, options);
}

async function execute(step: CollectionStep, { objects, cache }: CollectorOptions): Promise<void> {
  const { ref, uid } = step;
  try {
    switch (step.do) {
      case "delete":
        if (await isStillOwned(step, objects)) return;
        await objects.delete(ref, { uid });
        return;
      case "disown": {
        const changed = await objects.change(
          ref,
          ({ metadata }) => {
            const left = metadata.ownerReferences?.filter((owner) => !step.owners.includes(owner.uid)) ?? [];
            if (left.length > 0) metadata.ownerReferences = left;
            else delete metadata.ownerReferences;
          },
          { uid },
        );
        cache.record(ref.resource, changed);
        return;
      }
      case "release":
        await objects.change(
          ref,
          ({ metadata }) => {
            metadata.finalizers = metadata.finalizers?.filter((name) => name !== step.finalizer) ?? [];
          },
          { uid },
        );
        return;
      default:
        return step satisfies never;
    }
  } catch (error) {
    if (![404, 409].includes(httpStatusOf(error) ?? 0)) throw error;
  }
}

/** The cache may be stale: owners are looked up in the store before anything is deleted. */
async function isStillOwned(step: CollectionStep & { do: "delete" }, objects: Objects): Promise<boolean> {
  if (step.owners.length === 0) return false;
  const current = await objects.get(step.ref);
  const uids = new Set(
    ((current?.metadata.ownerReferences ?? []) as { uid: string }[]).map((owner) => owner.uid),
  );
  for (const ref of step.owners) {
    const owner = await objects.get(ref);
    if (owner !== undefined && uids.has(owner.metadata.uid)) return true;
  }
  return false;
}
