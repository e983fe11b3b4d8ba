import { whenAborted } from "../../../lib/base/abort.ts";
import type {
  NewObject,
  ObjectRef,
  Objects,
  RequestContext,
  ResourceDefinition,
  Unstructured,
} from "../../definition.ts";
import { invalid } from "../../rest/problems.ts";
import { setGeneration } from "../../rest/system-metadata.ts";
import { StatusError } from "../../status-error.ts";
import type { ApiObject } from "../../storage/object.ts";

type Change = { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: ApiObject };

export interface FakeObjectsOptions {
  /** The rules of these kinds are applied; objects of other kinds are stored unchanged. */
  readonly definitions?: readonly ResourceDefinition[];
  readonly now?: () => number;
}

/** The API's objects in memory, for tests of kinds and controllers. */
export class FakeObjects implements Objects {
  readonly #objects = new Map<string, ApiObject>();
  readonly #followers = new Set<(resource: string, change: Change) => void>();
  readonly #definitions: readonly ResourceDefinition[];
  readonly #now: () => number;
  #version = 0;

  constructor({ definitions = [], now = () => Date.UTC(2026, 0, 1) }: FakeObjectsOptions = {}) {
    this.#definitions = definitions;
    this.#now = now;
  }

  context(part: Partial<RequestContext> = {}): RequestContext {
    return {
      caller: { name: "tester", groups: ["system:masters"] },
      now: this.#now(),
      dryRun: false,
      objects: this,
      signal: new AbortController().signal,
      ...part,
    };
  }

  /** Adds an object without any checks. */
  put(resource: string, object: NewObject): ApiObject {
    const metadata = { uid: `uid-${object.metadata.name}`, ...object.metadata };
    return this.#write(resource, { ...structuredClone(object), metadata } as Unstructured, "ADDED");
  }

  get({ resource, namespace, name }: ObjectRef): Promise<ApiObject | undefined> {
    return Promise.resolve(this.#objects.get(keyOf(resource, namespace, name)));
  }

  list(resource: string, namespace?: string): Promise<readonly ApiObject[]> {
    const prefix = namespace === undefined ? `${resource}|` : `${resource}|${namespace}|`;
    return Promise.resolve(
      [...this.#objects].filter(([key]) => key.startsWith(prefix)).map(([, object]) => object),
    );
  }

  async create(resource: string, object: NewObject): Promise<ApiObject> {
    const definition = this.#definition(resource);
    const draft = structuredClone(object) as Unstructured;
    const { metadata } = draft;
    metadata.name ||= `${metadata.generateName}${this.#version}`;
    metadata.uid = `uid-${this.#version + 1}`;
    const { name, namespace = "" } = metadata;
    if (this.#objects.has(keyOf(resource, namespace, name)))
      throw new StatusError(409, "AlreadyExists", `${resource} "${name}" already exists`);
    const context = this.context();
    definition?.defaults?.(draft);
    await definition?.prepareCreate?.(draft, context);
    definition?.defaults?.(draft);
    if (definition) setGeneration(definition, draft, undefined);
    throwIfInvalid(definition, name, definition?.validate?.(draft, context));
    return this.#write(resource, draft, "ADDED");
  }

  async change(
    ref: ObjectRef,
    change: (draft: Unstructured) => void,
    options: { readonly subresource?: string; readonly uid?: string } = {},
  ): Promise<ApiObject | undefined> {
    const oldObject = await this.get(ref);
    if (!oldObject || (options.uid !== undefined && options.uid !== oldObject.metadata.uid)) return undefined;
    const draft: Unstructured = structuredClone(oldObject);
    change(draft);
    const definition = this.#definition(ref.resource);
    if (definition) await this.#keepRules(definition, draft, oldObject, options.subresource);
    return this.#write(ref.resource, draft, "MODIFIED");
  }

  async #keepRules(
    definition: ResourceDefinition,
    draft: Unstructured,
    oldObject: ApiObject,
    subresource: string | undefined,
  ): Promise<void> {
    const context = this.context();
    const rules = subresource === undefined ? undefined : definition.subresources?.[subresource];
    if (rules && rules.type !== "update")
      throw new Error(`${subresource} is not a subresource that changes the object`);
    definition.defaults?.(draft);
    await (rules ?? definition).prepareUpdate?.(draft, oldObject, context);
    definition.defaults?.(draft);
    if (rules?.countsGenerations !== false) setGeneration(definition, draft, oldObject);
    throwIfInvalid(
      definition,
      draft.metadata.name,
      (rules ?? definition).validateUpdate?.(draft, oldObject, context),
    );
  }

  async delete(
    ref: ObjectRef,
    options: { readonly uid?: string; readonly gracePeriodSeconds?: number } = {},
  ): Promise<ApiObject | undefined> {
    const current = await this.get(ref);
    if (!current || (options.uid !== undefined && options.uid !== current.metadata.uid)) return undefined;
    const definition = this.#definition(ref.resource);
    const grace = definition?.deletionGrace?.(current, options.gracePeriodSeconds, this.context()) ?? 0;
    const finalizers = (current.metadata.finalizers ?? []) as string[];
    if (grace > 0 || finalizers.length > 0) {
      const draft: Unstructured = structuredClone(current);
      draft.metadata.deletionTimestamp = new Date(this.#now() + grace * 1000).toISOString();
      draft.metadata.deletionGracePeriodSeconds = grace;
      return this.#write(ref.resource, draft, "MODIFIED");
    }
    this.#objects.delete(keyOf(ref.resource, ref.namespace, ref.name));
    this.#notify(ref.resource, { type: "DELETED", object: current });
    return current;
  }

  async *listAndWatch(resource: string, signal: AbortSignal): AsyncIterable<Change> {
    const queue: Change[] = (await this.list(resource)).map((object) => ({ type: "ADDED", object }));
    let wake = () => {};
    const follower = (changed: string, change: Change) => {
      if (changed !== resource) return;
      queue.push(change);
      wake();
    };
    this.#followers.add(follower);
    using _ = whenAborted(signal, () => wake());
    try {
      while (!signal.aborted) {
        const change = queue.shift();
        if (change) yield change;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
            if (signal.aborted || queue.length > 0) resolve();
          });
      }
    } finally {
      this.#followers.delete(follower);
    }
  }

  #write(resource: string, draft: Unstructured, type: "ADDED" | "MODIFIED"): ApiObject {
    draft.metadata.resourceVersion = String(++this.#version);
    const object: ApiObject = draft;
    const { name, namespace = "" } = object.metadata;
    const isRemoved =
      draft.metadata.deletionGracePeriodSeconds === 0 && (draft.metadata.finalizers ?? []).length === 0;
    if (isRemoved) this.#objects.delete(keyOf(resource, namespace, name));
    else this.#objects.set(keyOf(resource, namespace, name), object);
    this.#notify(resource, { type: isRemoved ? "DELETED" : type, object });
    return object;
  }

  #notify(resource: string, change: Change): void {
    for (const follower of this.#followers) follower(resource, change);
  }

  #definition(resource: string): ResourceDefinition | undefined {
    return this.#definitions.find(
      ({ name, group }) => (group === "" ? name : `${name}.${group}`) === resource,
    );
  }
}

function keyOf(resource: string, namespace: string, name: string): string {
  return `${resource}|${namespace}|${name}`;
}

function throwIfInvalid(
  definition: ResourceDefinition | undefined,
  name: string,
  problems: ReturnType<NonNullable<ResourceDefinition["validate"]>> = [],
): void {
  if (definition && problems.length > 0) throw invalid(definition, name, problems);
}
