import { randomUUID } from "node:crypto";
import { applyNodePatch } from "../../src/kubelet/node/fake-node-api.ts";
import type { NodeObject } from "../../src/kubelet/node/node-types.ts";
import { abortError } from "../../src/lib/base/errors.ts";
import { KubeApiError, TransportError } from "../../src/lib/clients/kube/api-error.ts";
import type {
  KubeRequest,
  KubeStreamRequest,
  KubeTransport,
  Query,
} from "../../src/lib/clients/kube/transport-interface.ts";
import type { Pod } from "../../src/lib/model/pod.ts";

export interface ApiObject {
  apiVersion?: string;
  kind?: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
    creationTimestamp?: string;
    deletionTimestamp?: string;
    deletionGracePeriodSeconds?: number;
    annotations?: Record<string, string>;
  };
  [field: string]: unknown;
}

interface Event {
  version: number;
  resource: string;
  type: "ADDED" | "MODIFIED" | "DELETED";
  object: ApiObject;
}

interface Target {
  resource: string;
  namespace: string;
  name: string;
  sub: string;
}

/** The parts of an API server that an agent needs, in memory. Outages can be simulated. */
export class FakeApi implements KubeTransport {
  /** Every received request: "PATCH pods default/web/status". */
  readonly requests: string[] = [];
  readonly watches: string[] = [];
  /** Resources whose watches deliver no changes, as on a busy API server. */
  readonly laggingWatches = new Set<string>();
  /** Called before a request is carried out. */
  onRequest: (call: string) => void = () => {};
  readonly #objects = new Map<string, ApiObject>();
  readonly #history: Event[] = [];
  readonly #wakes = new Set<() => void>();
  #version = 1;
  #isDown = false;

  /** Creates an object, as a user does. */
  put<T extends ApiObject>(resource: string, object: T): T {
    const key = keyOf(resource, object.metadata.namespace ?? "", object.metadata.name);
    const before = this.#objects.get(key);
    return this.#store(resource, before ? "MODIFIED" : "ADDED", object) as T;
  }

  get<T extends ApiObject = ApiObject>(resource: string, namespace: string, name: string): T | undefined {
    return this.#objects.get(keyOf(resource, namespace, name)) as T | undefined;
  }

  pod(name: string, namespace = "default"): Pod | undefined {
    return this.get(resourceOfPods, namespace, name) as unknown as Pod | undefined;
  }

  all(resource: string): ApiObject[] {
    return [...this.#objects].filter(([key]) => key.startsWith(`${resource} `)).map(([, object]) => object);
  }

  /** A user deletes a pod; without a grace period it is removed immediately. */
  deletePod(name: string, graceSeconds?: number, namespace = "default"): void {
    this.#delete(
      { resource: resourceOfPods, namespace, name, sub: "" },
      { gracePeriodSeconds: graceSeconds },
    );
  }

  goDown(): void {
    this.#isDown = true;
    this.#wakeAll();
  }

  recover(): void {
    this.#isDown = false;
  }

  close(): void {}

  async request<T>({ method, path, query = {}, body, signal }: KubeRequest): Promise<T> {
    await Promise.resolve();
    if (signal?.aborted) throw abortError(signal.reason);
    if (this.#isDown) throw new TransportError("connection refused");
    const target = parse(path);
    const call = `${method} ${target.resource} ${[target.namespace, target.name, target.sub].filter(Boolean).join("/")}`;
    this.requests.push(call.trim());
    this.onRequest(call.trim());
    return structuredClone(this.#handle(method, target, query, body as ApiObject)) as T;
  }

  /** As clients do with WatchListClient, which is on by default. */
  streamsLists = true;

  async stream({ path, query = {}, signal }: KubeStreamRequest): Promise<AsyncIterable<Uint8Array>> {
    await Promise.resolve();
    if (this.#isDown) throw new TransportError("connection refused");
    this.watches.push(parse(path).resource);
    this.onRequest(`WATCH ${parse(path).resource}`);
    return this.#events(parse(path).resource, query, signal);
  }

  async *#events(resource: string, query: Query, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    let seen = Number(query.resourceVersion);
    const wanted = selected(query);
    const line = (type: string, object: unknown) => Buffer.from(`${JSON.stringify({ type, object })}\n`);
    if (String(query.sendInitialEvents) === "true") {
      seen = this.#version;
      for (const object of this.all(resource).filter(wanted)) yield line("ADDED", object);
      const annotations = { "k8s.io/initial-events-end": "true" };
      yield line("BOOKMARK", { metadata: { resourceVersion: String(seen), annotations } });
    }
    let position = this.#history.findIndex(({ version }) => version > seen);
    if (position < 0) position = this.#history.length;
    while (!signal.aborted) {
      if (this.#isDown) throw new TransportError("connection reset");
      const change = this.#history[position];
      if (!change || this.laggingWatches.has(resource)) {
        await this.#changed(signal);
        continue;
      }
      position++;
      if (change.resource === resource && wanted(change.object)) yield line(change.type, change.object);
    }
  }

  #handle(method: KubeRequest["method"], target: Target, query: Query, body: ApiObject): unknown {
    const { resource, namespace, name } = target;
    const found = this.#objects.get(keyOf(resource, namespace, name));
    if (method === "GET" && name === "") {
      const items = this.all(resource).filter(selected(query));
      return { metadata: { resourceVersion: String(this.#version) }, items };
    }
    if (method === "POST") {
      const key = keyOf(resource, namespace, body.metadata.name);
      if (this.#objects.has(key)) throw statusError(409, "AlreadyExists", `${key} already exists`);
      return this.#store(resource, "ADDED", {
        ...body,
        metadata: { ...body.metadata, ...(namespace && { namespace }) },
      });
    }
    if (!found) throw statusError(404, "NotFound", `${resource} "${name}" not found`);
    switch (method) {
      case "GET":
        return found;
      case "PUT":
        if (body.metadata.resourceVersion !== found.metadata.resourceVersion)
          throw statusError(409, "Conflict", "the object has been modified");
        return this.#store(resource, "MODIFIED", body);
      case "PATCH": {
        const { uid, resourceVersion } = body.metadata ?? {};
        if (
          (uid && uid !== found.metadata.uid) ||
          (resourceVersion && resourceVersion !== found.metadata.resourceVersion)
        )
          throw statusError(409, "Conflict", "the object has been modified");
        const patched = applyNodePatch(found as unknown as NodeObject, body) as unknown as ApiObject;
        return this.#store(resource, "MODIFIED", patched);
      }
      case "DELETE":
        return this.#delete(
          target,
          (body ?? {}) as unknown as { gracePeriodSeconds?: number; preconditions?: { uid?: string } },
        );
      default:
        return method satisfies never;
    }
  }

  #delete(
    { resource, namespace, name }: Target,
    options: { gracePeriodSeconds?: number; preconditions?: { uid?: string } },
  ): ApiObject {
    const key = keyOf(resource, namespace, name);
    const found = this.#objects.get(key);
    if (!found) throw statusError(404, "NotFound", `${resource} "${name}" not found`);
    if (options.preconditions?.uid && options.preconditions.uid !== found.metadata.uid)
      throw statusError(409, "Conflict", "the UID in the precondition does not match");
    const spec = found.spec as { terminationGracePeriodSeconds?: number } | undefined;
    const grace = options.gracePeriodSeconds ?? spec?.terminationGracePeriodSeconds ?? 30;
    if (resource === resourceOfPods && grace > 0) {
      const deletionTimestamp = new Date(Date.now() + grace * 1000).toISOString();
      const metadata = { ...found.metadata, deletionTimestamp, deletionGracePeriodSeconds: grace };
      return this.#store(resource, "MODIFIED", { ...found, metadata });
    }
    this.#objects.delete(key);
    this.#notify(resource, "DELETED", found);
    return found;
  }

  #store(resource: string, type: Event["type"], object: ApiObject): ApiObject {
    const stored = structuredClone(object);
    stored.metadata.uid ??= randomUUID();
    stored.metadata.creationTimestamp ??= `${new Date().toISOString().slice(0, 19)}Z`;
    return this.#notify(resource, type, stored);
  }

  #notify(resource: string, type: Event["type"], object: ApiObject): ApiObject {
    const version = ++this.#version;
    const sentObject = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    const key = keyOf(resource, object.metadata.namespace ?? "", object.metadata.name);
    if (type !== "DELETED") this.#objects.set(key, sentObject);
    this.#history.push({ version, resource, type, object: sentObject });
    this.#wakeAll();
    return sentObject;
  }

  #wakeAll(): void {
    for (const wake of [...this.#wakes]) wake();
  }

  #changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        this.#wakes.delete(end);
        signal.removeEventListener("abort", end);
        resolve();
      };
      this.#wakes.add(end);
      signal.addEventListener("abort", end, { once: true });
    });
  }
}

const resourceOfPods = "pods";

function keyOf(resource: string, namespace: string, name: string): string {
  return `${resource} ${namespace}/${name}`;
}

function parse(path: string): Target {
  const match =
    /^\/(?:api|apis\/[^/]+)\/v1(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(path);
  if (!match) throw statusError(404, "NotFound", `nothing at ${path}`);
  const [, namespace = "", resource = "", name = "", sub = ""] = match;
  return { resource, namespace, name, sub };
}

function selected({ fieldSelector }: Query): (object: ApiObject) => boolean {
  const [field, value] = String(fieldSelector ?? "").split("=");
  if (field === "spec.nodeName") return ({ spec }) => (spec as { nodeName?: string }).nodeName === value;
  if (field === "metadata.name") return ({ metadata }) => metadata.name === value;
  return () => true;
}

function statusError(status: number, reason: string, message: string): KubeApiError {
  return new KubeApiError({ status, reason, message });
}
