import type { Caller, NewObject, ObjectRef, Objects, Unstructured } from "../definition.ts";
import type { JsonObject } from "../patch/json-value.ts";
import { isStoreError } from "../storage/errors.ts";
import type { ApiObject, StoredObject } from "../storage/object.ts";
import { createObject } from "./create.ts";
import { asDraft } from "./decode.ts";
import { listAndWatch, type ResourceChange } from "./list-and-watch.ts";
import { removeObject } from "./remove.ts";
import { asStatusError } from "./status.ts";
import { updateObject } from "./update.ts";
import { subjectOf, type WriteDependencies, type WriteRequest } from "./write-context.ts";

/** The identity of the API server itself. */
const systemCaller: Caller = { name: "system:apiserver", groups: ["system:masters"] };

const systemManager = "apiserver";

/** The API's internal access to its objects: the same rules as over HTTP; errors are StatusError. */
export class SystemObjects implements Objects {
  readonly #dependencies: WriteDependencies;
  readonly #dryRun: boolean;
  readonly #signal: AbortSignal;

  constructor(
    dependencies: WriteDependencies,
    options: { readonly dryRun: boolean; readonly signal: AbortSignal },
  ) {
    this.#dependencies = dependencies;
    this.#dryRun = options.dryRun;
    this.#signal = options.signal;
  }

  async get({ resource, namespace, name }: ObjectRef): Promise<ApiObject | undefined> {
    const { storedAs } = this.#dependencies.catalog.named(resource);
    return present(this.#dependencies.store.get({ resource: storedAs, namespace, name }));
  }

  async list(resource: string, namespace?: string): Promise<readonly ApiObject[]> {
    const { storedAs } = this.#dependencies.catalog.named(resource);
    const scope = { resource: storedAs, ...(namespace && { namespace }) };
    return (await this.#dependencies.store.list(scope)).items.map(({ value }) => value);
  }

  async create(resource: string, draft: NewObject): Promise<ApiObject> {
    const request = this.#request(resource, draft.metadata.namespace ?? "");
    const { group, version, definition } = request.served;
    const body = structuredClone(draft) as JsonObject;
    const own = asDraft(body, { group, version, kind: definition.kind });
    return this.#do(request, draft.metadata.name ?? "", async () => {
      return (await createObject(this.#dependencies, request, own)).value;
    });
  }

  change(
    ref: ObjectRef,
    change: (draft: Unstructured) => void,
    options: { readonly subresource?: string; readonly uid?: string } = {},
  ): Promise<ApiObject | undefined> {
    const request = this.#request(ref.resource, ref.namespace);
    const { definition } = request.served;
    const { subresource: subresourceName, uid } = options;
    const rules = subresourceName === undefined ? undefined : definition.subresources?.[subresourceName];
    if (subresourceName !== undefined && rules?.type !== "update")
      throw new Error(`${ref.resource} have no subresource ${JSON.stringify(subresourceName)}`);
    const mutate = (draft: Unstructured | undefined): Unstructured | undefined => {
      if (!draft || (uid !== undefined && draft.metadata.uid !== uid)) return undefined;
      change(draft);
      return draft;
    };
    const subresource =
      subresourceName !== undefined && rules?.type === "update"
        ? { name: subresourceName, rules }
        : undefined;
    return this.#do(request, ref.name, () => {
      const update = { name: ref.name, mutate, ...(subresource && { subresource }) };
      return present(updateObject(this.#dependencies, request, update).then(({ object }) => object));
    });
  }

  delete(
    ref: ObjectRef,
    options: { readonly uid?: string; readonly gracePeriodSeconds?: number } = {},
  ): Promise<ApiObject | undefined> {
    const request = this.#request(ref.resource, ref.namespace);
    const { uid, gracePeriodSeconds } = options;
    const requested = {
      dryRun: this.#dryRun,
      ...(uid !== undefined && { preconditions: { uid } }),
      ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    };
    return this.#do(request, ref.name, () =>
      present(removeObject(this.#dependencies, request, ref.name, requested).then(({ object }) => object)),
    );
  }

  listAndWatch(resource: string, signal: AbortSignal): AsyncIterable<ResourceChange> {
    return listAndWatch(
      this.#dependencies.store,
      this.#dependencies.catalog.named(resource).storedAs,
      signal,
    );
  }

  #request(resource: string, namespace: string): WriteRequest {
    return {
      served: this.#dependencies.catalog.named(resource),
      namespace,
      caller: systemCaller,
      manager: systemManager,
      dryRun: this.#dryRun,
      signal: this.#signal,
    };
  }

  async #do<T>({ served }: WriteRequest, name: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw asStatusError(error, subjectOf(served, name));
    }
  }
}

async function present(stored: Promise<StoredObject>): Promise<ApiObject | undefined> {
  try {
    return (await stored).value;
  } catch (error) {
    if (isStoreError(error, "NotFound")) return undefined;
    throw error;
  }
}
