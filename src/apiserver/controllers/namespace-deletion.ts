import type { Clock } from "../../lib/base/clock.ts";
import { messageOf } from "../../lib/base/errors.ts";
import { epochMs } from "../../lib/base/time.ts";
import type { Objects } from "../definition.ts";
import { same } from "../kinds/same.ts";
import type { ApiObject } from "../storage/object.ts";
import { namespaceConditions, type RemainingObjects } from "./namespace-conditions.ts";
import { refTo } from "./object-ref.ts";

export interface NamespaceDeletionOptions {
  readonly objects: Objects;
  readonly clock: Clock;
  /** All namespaced resources. */
  readonly resources: readonly string[];
}

const ownFinalizer = "kubernetes";
const recheckMs = 1_000;

/** Deletes the contents of terminating namespaces, pods first, and removes their finalizer when they are empty. */
export async function deleteNamespaceContents(
  namespaces: readonly ApiObject[],
  options: NamespaceDeletionOptions,
): Promise<number | undefined> {
  let left = false;
  for (const namespace of namespaces) {
    if (namespace.metadata.deletionTimestamp === undefined) continue;
    const finalizers: readonly string[] = namespace.spec?.finalizers ?? [];
    if (!finalizers.includes(ownFinalizer)) continue;
    if (!(await deleteContents(namespace, options))) left = true;
  }
  return left ? recheckMs : undefined;
}

async function deleteContents(namespace: ApiObject, options: NamespaceDeletionOptions): Promise<boolean> {
  const { name, uid } = namespace.metadata;
  const ref = refTo("namespaces", namespace);
  const { objects, clock } = options;
  // Pods may need the other objects until they have terminated.
  const pods = await deleteObjects(["pods"], name, objects);
  const others = options.resources.filter((resource) => resource !== "pods");
  const remains = total(pods) > 0 ? pods : await deleteObjects(others, name, objects);
  const done = total(remains) === 0 && remains.failures.length === 0;
  const conditions = namespaceConditions(namespace.status?.conditions ?? [], remains, epochMs(clock.wall()));
  if (!same(conditions, namespace.status?.conditions))
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

/** Deletes all objects of these resources, and returns those that remain. */
async function deleteObjects(
  resources: readonly string[],
  namespace: string,
  objects: Objects,
): Promise<RemainingObjects> {
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
      for (const name of object.metadata.finalizers ?? [])
        finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
  }
  return { counts, finalizers, failures };
}

function total({ counts }: RemainingObjects): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}
