import type { Clock } from "../../lib/base/clock.ts";
import { messageOf } from "../../lib/base/errors.ts";
import { epochMs } from "../../lib/base/time.ts";
import type { Objects } from "../definition.ts";
import { same } from "../kinds/same.ts";
import type { ApiObject } from "../storage/object.ts";
import { namespaceConditions, type Remains } from "./namespace-conditions.ts";
import { read, refTo } from "./typed.ts";

export interface NamespaceDeletionOptions {
  readonly objects: Objects;
  readonly clock: Clock;
  /** All resources that live in namespaces. */
  readonly resources: readonly string[];
}

const ownFinalizer = "kubernetes";
const lookAgainMs = 1_000;

/** Empties namespaces that were deleted, pods first, and lets them go when nothing is left. */
export async function emptyNamespaces(
  namespaces: readonly ApiObject[],
  options: NamespaceDeletionOptions,
): Promise<number | undefined> {
  let left = false;
  for (const namespace of namespaces) {
    if (namespace.metadata.deletionTimestamp === undefined) continue;
    const finalizers: readonly string[] = read(namespace).spec?.finalizers ?? [];
    if (!finalizers.includes(ownFinalizer)) continue;
    if (!(await emptyOne(namespace, options))) left = true;
  }
  return left ? lookAgainMs : undefined;
}

async function emptyOne(namespace: ApiObject, options: NamespaceDeletionOptions): Promise<boolean> {
  const { name, uid } = namespace.metadata;
  const ref = refTo("namespaces", namespace);
  const { objects, clock } = options;
  // Pods may still need what else is there until they have ended.
  const pods = await empty(["pods"], name, objects);
  const others = options.resources.filter((resource) => resource !== "pods");
  const remains = total(pods) > 0 ? pods : await empty(others, name, objects);
  const done = total(remains) === 0 && remains.failures.length === 0;
  const conditions = namespaceConditions(
    read(namespace).status?.conditions ?? [],
    remains,
    epochMs(clock.wall()),
  );
  if (!same(conditions, read(namespace).status?.conditions))
    await objects.change(
      ref,
      (draft) => {
        draft.status = { ...draft.status, phase: "Terminating", conditions };
      },
      { subresource: "status", uid },
    );
  if (!done) return false;
  await objects.change(
    ref,
    (draft) => {
      draft.spec.finalizers = draft.spec.finalizers?.filter((each: string) => each !== ownFinalizer) ?? [];
    },
    { subresource: "finalize", uid },
  );
  return true;
}

/** Deletes all of these, and returns what is still there. */
async function empty(resources: readonly string[], namespace: string, objects: Objects): Promise<Remains> {
  const counts = new Map<string, number>();
  const finalizers = new Map<string, number>();
  const failures: string[] = [];
  for (const resource of resources) {
    for (const object of await objects.list(resource, namespace)) {
      if (object.metadata.deletionTimestamp !== undefined) continue;
      try {
        await objects.delete(refTo(resource, object), { uid: object.metadata.uid });
      } catch (error) {
        failures.push(messageOf(error));
      }
    }
    const left = await objects.list(resource, namespace);
    if (left.length > 0) counts.set(resource, left.length);
    for (const object of left)
      for (const name of read(object).metadata.finalizers ?? [])
        finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
  }
  return { counts, finalizers, failures };
}

function total({ counts }: Remains): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}
