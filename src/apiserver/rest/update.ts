import { abortError } from "../../lib/base/errors.ts";
import type { Unstructured, UpdateSubresource } from "../definition.ts";
import { trackUpdate } from "../patch/track-update.ts";
import { conflict, isStoreError, modified, notFound } from "../storage/errors.ts";
import { type ApiObject, asJson, fromJson, type ObjectKey, StoredObject } from "../storage/object.ts";
import { toStored } from "./catalog.ts";
import { createObject, ignoredByMain } from "./create.ts";
import { shouldDeleteDuringUpdate } from "./deletion-plan.ts";
import { invalid } from "./problems.ts";
import { servedCopy } from "./served-form.ts";
import { applyNamespace, finalizerProblems, keepMetadata, setGeneration } from "./system-metadata.ts";
import { admit, contextOf, type WriteDependencies, type WriteRequest } from "./write-context.ts";

export interface Update {
  readonly name: string;
  /** The subresource that is updated, if not the main resource. */
  readonly subresource?: { readonly name: string; readonly rules: UpdateSubresource };
  /**
   * Returns the new object, in the version of the request; called again on a write conflict. Gets a copy of the current
   * object. Undefined: there is nothing to update.
   */
  mutate(oldObject: Unstructured | undefined): Unstructured | undefined;
  /** Called before the update creates a missing object: update and create are different verbs. */
  readonly mayCreate?: () => Promise<void>;
  /** `mutate` also sets managedFields: an apply. */
  readonly tracked?: boolean;
}

export interface Updated {
  readonly object: StoredObject;
  readonly created: boolean;
}

/** Updates an object, or creates it if it does not exist and `mutate` returns one. */
export async function updateObject(
  dependencies: WriteDependencies,
  request: WriteRequest,
  update: Update,
): Promise<Updated> {
  const { served, namespace, signal } = request;
  const key: ObjectKey = { resource: served.storedAs, namespace, name: update.name };
  for (;;) {
    if (signal.aborted) throw abortError(signal.reason);
    const seen = await present(dependencies, key);
    const draft = update.mutate(seen && servedCopy(served, seen));
    if (!draft) throw notFound(key);
    try {
      if (!seen)
        return { object: await createMissing(dependencies, request, update, key, draft), created: true };
      return { object: await change(dependencies, request, update, seen, draft), created: false };
    } catch (error) {
      if (!(error instanceof WriteConflict)) throw error;
    }
  }
}

/** Another client wrote between the read and the write. */
class WriteConflict extends Error {}

async function present({ store }: WriteDependencies, key: ObjectKey): Promise<StoredObject | undefined> {
  try {
    return await store.get(key);
  } catch (error) {
    if (isStoreError(error, "NotFound")) return undefined;
    throw error;
  }
}

async function createMissing(
  dependencies: WriteDependencies,
  request: WriteRequest,
  update: Update,
  key: ObjectKey,
  draft: Unstructured,
): Promise<StoredObject> {
  const { uid, resourceVersion } = draft.metadata;
  if (resourceVersion) throw notFound(key);
  if (uid)
    throw conflict(
      key,
      `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
    );
  await update.mayCreate?.();
  try {
    return await createObject(dependencies, request, draft, { tracked: update.tracked === true });
  } catch (error) {
    if (isStoreError(error, "AlreadyExists")) throw new WriteConflict();
    throw error;
  }
}

async function change(
  dependencies: WriteDependencies,
  request: WriteRequest,
  update: Update,
  seen: StoredObject,
  draft: Unstructured,
): Promise<StoredObject> {
  const { served, namespace, manager, dryRun } = request;
  const { definition } = served;
  const { key, value: oldObject } = seen;
  const { subresource } = update;
  const context = contextOf(dependencies, request);
  applyNamespace(draft, namespace);
  const { uid, resourceVersion } = draft.metadata;
  if (uid && uid !== seen.uid)
    throw conflict(key, `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${seen.uid}`);
  if (resourceVersion && resourceVersion !== String(seen.version)) throw modified(key);

  toStored(served, draft);
  keepMetadata(draft, oldObject);
  definition.defaults?.(draft);
  await admit(dependencies, request, {
    operation: "UPDATE",
    subresource: subresource?.name ?? "",
    name: key.name,
    object: draft,
    oldObject,
  });
  if (subresource) subresource.rules.prepareUpdate(draft, oldObject, context);
  else await definition.prepareUpdate?.(draft, oldObject, context);
  keepMetadata(draft, oldObject);
  definition.defaults?.(draft);
  // keepMetadata has kept the old one.
  if (subresource?.rules.countsGenerations !== false) setGeneration(definition, draft, oldObject);

  const validated = subresource
    ? subresource.rules.validateUpdate?.(draft, oldObject, context)
    : definition.validateUpdate?.(draft, oldObject, context);
  const problems = [...(validated ?? []), ...finalizerProblems(draft, oldObject)];
  if (problems.length > 0) throw invalid(definition, key.name, problems);

  const object = update.tracked
    ? draft
    : fromJson(
        trackUpdate(asJson(oldObject), asJson(draft), {
          schema: served.storedSchema,
          manager,
          subresource: subresource?.name ?? "",
          now: context.now,
          ignored: subresource ? subresource.rules.ignored : ignoredByMain(definition),
        }),
      );
  if (dryRun) return dryResult(seen, object);
  const deletes = shouldDeleteDuringUpdate(oldObject, draft, definition.hasSpecFinalizers?.(object) === true);
  const written = await dependencies.store.apply(key, (current) => {
    if (current?.version !== seen.version) throw new WriteConflict();
    return deletes ? { kind: "delete", last: object } : { kind: "put", object };
  });
  return written!;
}

function dryResult(seen: StoredObject, object: ApiObject): StoredObject {
  const metadata = { ...object.metadata, resourceVersion: String(seen.version) };
  return new StoredObject(seen.key, seen.uid, seen.version, JSON.stringify({ ...object, metadata }));
}
