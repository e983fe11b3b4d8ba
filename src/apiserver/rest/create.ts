import type { ResourceDefinition, Unstructured } from "../definition.ts";
import { trackUpdate } from "../patch/track-update.ts";
import { StatusError } from "../status-error.ts";
import { alreadyExists, isStoreError } from "../storage/errors.ts";
import {
  type ApiObject,
  asJson,
  fromJson,
  type ObjectKey,
  restoreField,
  StoredObject,
} from "../storage/object.ts";
import type { Store } from "../storage/store.ts";
import { type Catalog, type Served, toStored } from "./catalog.ts";
import { generatedName, nameAttempts } from "./generate-name.ts";
import { forbidden, invalid, notFoundError } from "./problems.ts";
import { applyNamespace, initMetadata, nameProblems, setGeneration } from "./system-metadata.ts";
import { admit, contextOf, type WriteDependencies, type WriteRequest } from "./write-context.ts";

const namespaces = { name: "namespaces", group: "" };

export interface CreateOptions {
  /** The draft already has managedFields: the result of an apply. */
  readonly tracked?: boolean;
}

/** Creates an object from a draft in the requested version. The draft is modified. */
export async function createObject(
  dependencies: WriteDependencies,
  request: WriteRequest,
  draft: Unstructured,
  options: CreateOptions = {},
): Promise<StoredObject> {
  applyNamespace(draft, request.namespace);
  if (draft.metadata.resourceVersion)
    throw new StatusError(500, "", "resourceVersion should not be set on objects to be created");
  toStored(request.served, draft);
  const { generateName, name } = draft.metadata;
  if (name || !generateName) return createNamed(dependencies, request, draft, options);
  for (let attempt = 1; ; attempt++) {
    const copy = structuredClone(draft);
    copy.metadata.name = generatedName(generateName);
    try {
      return await createNamed(dependencies, request, copy, options);
    } catch (error) {
      if (!isStoreError(error, "AlreadyExists")) throw error;
      if (attempt === nameAttempts) throw noNameLeft(request, copy.metadata.name);
    }
  }
}

async function createNamed(
  dependencies: WriteDependencies,
  request: WriteRequest,
  draft: Unstructured,
  options: CreateOptions,
): Promise<StoredObject> {
  const { served, namespace, dryRun } = request;
  const { definition } = served;
  const context = contextOf(dependencies, request);
  const { name } = draft.metadata;
  initMetadata(draft, context.now);
  definition.defaults?.(draft);
  // Before admission: fields that the API sets have no owner, so no apply removes them.
  if (!options.tracked) trackCreate(draft, request, context.now);
  await checkNamespace(dependencies, served, namespace, name ?? "");
  await admit(dependencies, request, {
    operation: "CREATE",
    subresource: "",
    name: name ?? "",
    object: draft,
  });
  await definition.prepareCreate?.(draft, context);
  definition.defaults?.(draft);
  setGeneration(definition, draft, undefined);
  const problems = [...(definition.validate?.(draft, context) ?? []), ...nameProblems(draft)];
  if (problems.length > 0) throw invalid(definition, name ?? "", problems);
  const key: ObjectKey = { resource: served.storedAs, namespace, name: draft.metadata.name };
  const created: ApiObject = draft;
  if (!dryRun) return dependencies.store.create(key, created);
  await mustBeFree(dependencies, key);
  return new StoredObject(key, created.metadata.uid, 0, JSON.stringify(created));
}

function trackCreate(draft: Unstructured, { served, manager }: WriteRequest, now: number): void {
  const tracked = trackUpdate(undefined, asJson(draft), {
    schema: served.storedSchema,
    manager,
    now,
    ignored: ignoredByMain(served.definition),
  });
  restoreField(draft.metadata, fromJson(tracked).metadata, "managedFields");
}

/** The main resource does not write fields that have a subresource. */
export function ignoredByMain(definition: ResourceDefinition): readonly (readonly string[])[] {
  return definition.subresources?.status?.type === "update" ? [["status"]] : [];
}

async function mustBeFree({ store }: WriteDependencies, key: ObjectKey): Promise<void> {
  try {
    await store.get(key);
  } catch (error) {
    if (isStoreError(error, "NotFound")) return;
    throw error;
  }
  throw alreadyExists(key);
}

function noNameLeft({ served }: WriteRequest, name: string): StatusError {
  const { definition, group, resource } = served;
  return new StatusError(
    409,
    "AlreadyExists",
    `${resource} ${JSON.stringify(name)} already exists, the server was not able to generate a unique name for the object`,
    { name, ...(group && { group }), kind: definition.name, retryAfterSeconds: 1 },
  );
}

/** Rejects the creation of objects in a namespace that does not exist or is terminating. */
async function checkNamespace(
  { store, catalog }: { readonly store: Store; readonly catalog: Catalog },
  served: Served,
  namespace: string,
  name: string,
): Promise<void> {
  // Whether a namespace exists is not disclosed by access reviews.
  if (namespace === "" || !catalog.has("namespaces") || served.definition.handleCreate) return;
  let found: Record<string, unknown>;
  try {
    found = (await store.get({ resource: "namespaces", namespace: "", name: namespace })).value;
  } catch (error) {
    if (isStoreError(error, "NotFound")) throw notFoundError(namespaces, "namespaces", namespace);
    throw error;
  }
  if ((found.status as { phase?: string } | undefined)?.phase !== "Terminating") return;
  const { definition, group, resource } = served;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const forbiddenError = forbidden({ name: definition.name, group }, resource, name, why);
  throw new StatusError(403, forbiddenError.reason, forbiddenError.message, {
    ...forbiddenError.details,
    causes: [
      {
        reason: "NamespaceTerminating",
        message: `namespace ${namespace} is being terminated`,
        field: "metadata.namespace",
      },
    ],
  });
}
