import type { Caller, Draft, DraftMeta, ObjectRef, Objects } from "../definition.ts";
import type { JsonObject } from "../patch/json-value.ts";
import { isStoreError } from "../storage/errors.ts";
import type { ApiObject, StoredObject } from "../storage/object.ts";
import { createObject } from "./create.ts";
import { asDraft } from "./decode.ts";
import { type Followed, followResource } from "./follow.ts";
import { removeObject } from "./remove.ts";
import { asProblem } from "./status.ts";
import { updateObject } from "./update.ts";
import { subjectOf, type WriteDoors, type WriteRequest } from "./write-context.ts";

/** Who the API itself is. */
const systemCaller: Caller = { name: "system:apiserver", groups: ["system:masters"] };

const systemManager = "apiserver";

/** The API's own door to its objects: the same rules as over HTTP, and refusals are ApiProblems. */
export class SystemObjects implements Objects {
  readonly #doors: WriteDoors;
  readonly #dryRun: boolean;
  readonly #signal: AbortSignal;

  constructor(doors: WriteDoors, options: { readonly dryRun: boolean; readonly signal: AbortSignal }) {
    this.#doors = doors;
    this.#dryRun = options.dryRun;
    this.#signal = options.signal;
  }

  async get({ resource, namespace, name }: ObjectRef): Promise<ApiObject | undefined> {
    const { storedAs } = this.#doors.catalog.named(resource);
    return present(this.#doors.store.get({ resource: storedAs, namespace, name }));
  }

  async list(resource: string, namespace?: string): Promise<readonly ApiObject[]> {
    const { storedAs } = this.#doors.catalog.named(resource);
    const scope = { resource: storedAs, ...(namespace && { namespace }) };
    return (await this.#doors.store.list(scope)).items.map(({ value }) => value);
  }

  async create(
    resource: string,
    draft: Omit<Draft, "metadata"> & { metadata: Partial<DraftMeta> },
  ): Promise<ApiObject> {
    const request = this.#request(resource, draft.metadata.namespace ?? "");
    const { group, version, definition } = request.served;
    const body = structuredClone(draft) as unknown as JsonObject;
    const own = asDraft(body, { group, version, kind: definition.kind });
    return this.#do(request, draft.metadata.name ?? "", async () => {
      return (await createObject(this.#doors, request, own)).value;
    });
  }

  change(
    ref: ObjectRef,
    change: (draft: Draft) => void,
    options: { readonly subresource?: string; readonly uid?: string } = {},
  ): Promise<ApiObject | undefined> {
    const request = this.#request(ref.resource, ref.namespace);
    const { definition } = request.served;
    const { subresource: door, uid } = options;
    const part = door === undefined ? undefined : definition.subresources?.[door];
    if (door !== undefined && part?.how !== "part")
      throw new Error(`${ref.resource} have no part ${JSON.stringify(door)}`);
    const make = (draft: Draft | undefined): Draft | undefined => {
      if (!draft || (uid !== undefined && draft.metadata.uid !== uid)) return undefined;
      change(draft);
      return draft;
    };
    const subresource = door !== undefined && part?.how === "part" ? { name: door, part } : undefined;
    return this.#do(request, ref.name, () => {
      const update = { name: ref.name, make, ...(subresource && { subresource }) };
      return present(updateObject(this.#doors, request, update).then(({ object }) => object));
    });
  }

  delete(
    ref: ObjectRef,
    options: { readonly uid?: string; readonly gracePeriodSeconds?: number } = {},
  ): Promise<ApiObject | undefined> {
    const request = this.#request(ref.resource, ref.namespace);
    const { uid, gracePeriodSeconds } = options;
    const asked = {
      dryRun: this.#dryRun,
      ...(uid !== undefined && { preconditions: { uid } }),
      ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    };
    return this.#do(request, ref.name, () =>
      present(removeObject(this.#doors, request, ref.name, asked).then(({ object }) => object)),
    );
  }

  follow(resource: string, signal: AbortSignal): AsyncIterable<Followed> {
    return followResource(this.#doors.store, this.#doors.catalog.named(resource).storedAs, signal);
  }

  #request(resource: string, namespace: string): WriteRequest {
    return {
      served: this.#doors.catalog.named(resource),
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
      throw asProblem(error, subjectOf(served, name));
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
