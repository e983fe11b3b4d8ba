import { whenAborted } from "../../lib/base/abort.ts";
import { abortError } from "../../lib/base/errors.ts";
import type { Attributes } from "../access.ts";
import type {
  Caller,
  NewObject,
  ObjectRef,
  Objects,
  RequestContext,
  ResourceDefinition,
  Unstructured,
} from "../definition.ts";
import { invalid } from "../rest/problems.ts";
import type { ApiObject } from "../storage/object.ts";

type Change = { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: ApiObject };

/** Objects in memory, for tests. It applies the checks and subresources of the definitions that it is given. */
export class MemoryObjects implements Objects {
  readonly #objects = new Map<string, ApiObject>();
  readonly #watchers = new Set<(resource: string, change: Change) => void>();
  readonly #definitions: ReadonlyMap<string, ResourceDefinition>;
  readonly #now: () => number;
  #uids = 0;
  /** The number of further writes that fail. */
  failures = 0;

  constructor(o: { definitions?: Readonly<Record<string, ResourceDefinition>>; now?: () => number } = {}) {
    this.#definitions = new Map(Object.entries(o.definitions ?? {}));
    this.#now = o.now ?? (() => 0);
  }

  put(resource: string, object: NewObject & { metadata: { name: string } }): ApiObject {
    const metadata = { uid: `uid-${++this.#uids}`, namespace: "", ...object.metadata };
    const stored: ApiObject = { ...object, metadata };
    const key = keyOf({ resource, namespace: metadata.namespace, name: stored.metadata.name });
    const type = this.#objects.has(key) ? "MODIFIED" : "ADDED";
    this.#objects.set(key, stored);
    this.#notify(resource, { type, object: stored });
    return stored;
  }

  get(ref: ObjectRef): Promise<ApiObject | undefined> {
    return Promise.resolve(this.#objects.get(keyOf(ref)));
  }

  list(resource: string, namespace?: string): Promise<readonly ApiObject[]> {
    const prefix = namespace === undefined ? `${resource}|` : `${resource}|${namespace}|`;
    return Promise.resolve(
      [...this.#objects].flatMap(([key, object]) => (key.startsWith(prefix) ? [object] : [])),
    );
  }

  async create(
    resource: string,
    draft: Parameters<Objects["create"]>[1],
    caller = admin,
  ): Promise<ApiObject> {
    const definition = this.#definitions.get(resource);
    const created = structuredClone(draft) as Unstructured;
    created.metadata.creationTimestamp ??= new Date(this.#now()).toISOString();
    await definition?.prepareCreate?.(created, this.context(caller));
    this.#check(definition, created, definition?.validate?.(created, this.context(caller)));
    return this.put(resource, created as never);
  }

  change(...[ref, change, options]: Parameters<Objects["change"]>): Promise<ApiObject | undefined> {
    if (this.failures > 0) {
      this.failures--;
      return Promise.reject(new Error("disk full"));
    }
    const before = this.#objects.get(keyOf(ref));
    if (!before || (options?.uid && options.uid !== before.metadata.uid)) return Promise.resolve(undefined);
    const draft: Unstructured = structuredClone(before);
    change(draft);
    const definition = this.#definitions.get(ref.resource);
    const subresource = options?.subresource ? definition?.subresources?.[options.subresource] : undefined;
    if (subresource?.type === "update") {
      subresource.prepareUpdate(draft, before, this.context(admin));
      this.#check(definition, draft, subresource.validateUpdate?.(draft, before, this.context(admin)));
    }
    return Promise.resolve(this.put(ref.resource, draft as never));
  }

  delete(ref: ObjectRef): Promise<ApiObject | undefined> {
    const object = this.#objects.get(keyOf(ref));
    this.#objects.delete(keyOf(ref));
    if (object) this.#notify(ref.resource, { type: "DELETED", object });
    return Promise.resolve(object);
  }

  async *listAndWatch(resource: string, signal: AbortSignal): AsyncGenerator<Change> {
    const queue: Change[] = (await this.list(resource)).map((object) => ({ type: "ADDED", object }));
    let wake = () => {};
    const watcher = (of: string, change: Change) => {
      if (of !== resource) return;
      queue.push(change);
      wake();
    };
    this.#watchers.add(watcher);
    whenAborted(signal, () => wake());
    try {
      while (!signal.aborted) {
        const next = queue.shift();
        if (next) yield next;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      this.#watchers.delete(watcher);
    }
  }

  context(caller: Caller): RequestContext {
    return { caller, now: this.#now(), dryRun: false, objects: this, signal: new AbortController().signal };
  }

  #notify(resource: string, change: Change): void {
    for (const watcher of this.#watchers) watcher(resource, change);
  }

  #check(
    definition: ResourceDefinition | undefined,
    draft: Unstructured,
    problems: ReturnType<NonNullable<ResourceDefinition["validate"]>> = [],
  ): void {
    if (definition && problems.length > 0) throw invalid(definition, draft.metadata.name, problems);
  }
}

const keyOf = ({ resource, namespace, name }: ObjectRef) => `${resource}|${namespace}|${name}`;

export const admin: Caller = {
  name: "kubernetes-admin",
  groups: ["system:masters", "system:authenticated"],
};

export function node(name: string): Caller {
  return { name: `system:node:${name}`, groups: ["system:nodes", "system:authenticated"] };
}

/** "get pods/status ns/name" as attributes; a group is written after the resource: "leases.coordination.k8s.io". */
export function attributesOf(text: string, more: Partial<Attributes> = {}): Attributes {
  const [verb = "", description = "", where = ""] = text.split(" ");
  const none = { version: "v1", subresource: "", namespace: "", name: "", group: "", resource: "" };
  if (description.startsWith("/")) return { ...none, verb, path: description, ...more };
  const [qualified = "", subresource = ""] = description.split("/");
  const [resource = "", ...group] = qualified.split(".");
  const [namespace = "", name = ""] = where.split("/");
  return { ...none, verb, resource, group: group.join("."), subresource, namespace, name, ...more };
}

/** Resolves once the condition is true; on timeout, the error contains the description. */
export async function eventually<T>(description: string, check: () => Promise<T | undefined>): Promise<T> {
  for (let round = 0; round < 2000; round++) {
    const found = await check();
    if (found !== undefined) return found;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw abortError(`never: ${description}`);
}
