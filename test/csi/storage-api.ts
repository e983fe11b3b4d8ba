import { KubeApiError } from "../../src/lib/clients/kube/api-error.ts";
import type { KubeRequest, KubeTransport } from "../../src/lib/clients/kube/transport-interface.ts";

type Json = Record<string, unknown>;

/** The API of the storage objects that a node uses, in memory, by path. */
export class StorageApi implements Pick<KubeTransport, "request"> {
  readonly objects = new Map<string, Json>();
  readonly requests: string[] = [];
  /** Responds with this status while it is set. */
  failing: number | undefined;
  #version = 0;

  put(path: string, object: Json): void {
    const metadata = { ...(object.metadata as Json), resourceVersion: String(++this.#version) };
    this.objects.set(path, { ...structuredClone(object), metadata });
  }

  get<T = Json>(path: string): T | undefined {
    return this.objects.get(path) as T | undefined;
  }

  async request<T>({ method, path, body }: KubeRequest): Promise<T> {
    this.requests.push(`${method} ${path}`);
    if (this.failing) throw statusError(this.failing, "the server is failing");
    const target = method === "PATCH" ? path.replace(/\/status$/, "") : path;
    if (method === "POST") {
      const created = `${path}/${(body as { metadata: { name: string } }).metadata.name}`;
      this.put(created, body as Json);
      return structuredClone(this.objects.get(created)) as T;
    }
    const known = this.objects.get(target);
    if (!known) throw statusError(404, `${target.split("/").at(-2)} "${target.split("/").at(-1)}" not found`);
    if (method === "DELETE") this.objects.delete(target);
    if (method === "PUT" || method === "PATCH") {
      const sent = (body as { metadata?: { resourceVersion?: string } }).metadata?.resourceVersion;
      if (sent !== undefined && sent !== (known.metadata as Json).resourceVersion)
        throw statusError(409, "the object has been modified");
      this.put(target, method === "PUT" ? (body as Json) : merge(known, body as Json));
    }
    return structuredClone(this.objects.get(target) ?? known) as T;
  }
}

/** A strategic merge, as far as PVCs and nodes need one: conditions are merged by type. */
function merge(known: Json, patch: Json): Json {
  const result: Json = { ...known };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else if (key === "conditions")
      result[key] = mergeByType((known[key] as Json[] | undefined) ?? [], value as Json[]);
    else if (typeof value === "object" && !Array.isArray(value))
      result[key] = merge((known[key] as Json | undefined) ?? {}, value as Json);
    else result[key] = value;
  }
  return result;
}

function mergeByType(known: Json[], patch: Json[]): Json[] {
  const others = known.filter((item) => !patch.some(({ type }) => type === item.type));
  return [...others, ...patch.filter((item) => item.$patch !== "delete")];
}

function statusError(status: number, message: string): KubeApiError {
  return new KubeApiError({ status, reason: status === 404 ? "NotFound" : "Conflict", message });
}
