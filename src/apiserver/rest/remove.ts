import { abortError } from "../../lib/base/errors.ts";
import { isStoreError } from "../storage/errors.ts";
import { type ApiObject, type ObjectKey, StoredObject } from "../storage/object.ts";
import { kindName } from "./catalog.ts";
import type { DeleteOptions, Propagation } from "./delete-options.ts";
import { planDeletion } from "./deletion-plan.ts";
import { conflictError } from "./problems.ts";
import { admit, contextOf, type WriteDependencies, type WriteRequest } from "./write-context.ts";

export interface Removed {
  readonly object: StoredObject;
  /** False if the object is kept for its grace period or its finalizers. */
  readonly isRemoved: boolean;
}

class WriteConflict extends Error {}

/** Deletes an object, or marks it as deleted. */
export async function removeObject(
  dependencies: WriteDependencies,
  request: WriteRequest,
  name: string,
  options: DeleteOptions,
): Promise<Removed> {
  const { served, namespace, signal } = request;
  const key: ObjectKey = { resource: served.storedAs, namespace, name };
  for (;;) {
    if (signal.aborted) throw abortError(signal.reason);
    const seen = await dependencies.store.get(key);
    try {
      return await removeSeen(dependencies, request, seen, options);
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error;
    }
  }
}

async function removeSeen(
  dependencies: WriteDependencies,
  request: WriteRequest,
  seen: StoredObject,
  options: DeleteOptions,
): Promise<Removed> {
  const { served, dryRun } = request;
  const { definition } = served;
  const { key, value: current } = seen;
  const context = contextOf(dependencies, request);
  checkPreconditions(request, seen, options);
  await admit(dependencies, request, {
    operation: "DELETE",
    subresource: "",
    name: key.name,
    oldObject: current,
    options,
  });
  const { deletionGrace, hasSpecFinalizers } = definition;
  const plan = planDeletion(current, {
    gracePeriodSeconds: options.gracePeriodSeconds,
    propagation: propagationOf(options),
    now: context.now,
    grace: deletionGrace && ((requested) => deletionGrace.call(definition, current, requested, context)),
    handled: dependencies.propagation,
    hasSpecFinalizers: hasSpecFinalizers && ((draft) => hasSpecFinalizers.call(definition, draft)),
  });
  switch (plan.kind) {
    case "pending":
      return { object: seen, isRemoved: false };
    case "mark": {
      await definition.prepareDelete?.(plan.draft, context);
      const object: ApiObject = plan.draft;
      if (dryRun) return { object: asStored(seen, object), isRemoved: false };
      const written = await dependencies.store.apply(key, (latest) => {
        if (latest?.version !== seen.version) throw new WriteConflict();
        return { kind: "put", object };
      });
      return { object: written!, isRemoved: false };
    }
    case "remove": {
      await definition.prepareDelete?.(seen.copy(), context);
      if (dryRun) return { object: seen, isRemoved: true };
      try {
        const { uid, version } = seen;
        return { object: await dependencies.store.delete(key, { uid, version }), isRemoved: true };
      } catch (error) {
        if (isStoreError(error, "Conflict")) throw new WriteConflict();
        throw error;
      }
    }
    default:
      return plan satisfies never;
  }
}

function propagationOf({ propagationPolicy, orphanDependents }: DeleteOptions): Propagation | undefined {
  if (orphanDependents !== undefined) return orphanDependents ? "Orphan" : "Background";
  return propagationPolicy;
}

function checkPreconditions(request: WriteRequest, seen: StoredObject, options: DeleteOptions): void {
  const { uid, resourceVersion } = options.preconditions ?? {};
  const { definition, group } = request.served;
  const { kind } = definition;
  const conflict = (why: string) =>
    conflictError({ name: kind, group }, kindName(kind, group), seen.key.name, why);
  if (uid && uid !== seen.uid)
    throw conflict(
      `the UID in the precondition (${uid}) does not match the UID in record (${seen.uid}). The object might have been deleted and then recreated`,
    );
  if (resourceVersion && resourceVersion !== String(seen.version))
    throw conflict(
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${seen.version}). The object might have been modified`,
    );
}

function asStored(seen: StoredObject, object: ApiObject): StoredObject {
  return new StoredObject(seen.key, seen.uid, seen.version, JSON.stringify(object));
}
