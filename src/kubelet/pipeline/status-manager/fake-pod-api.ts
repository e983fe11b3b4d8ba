import { KubeletError } from "../../../lib/base/errors.ts";
import { isObject } from "../../../lib/base/json-value.ts";
import type { KubeRequest } from "../../../lib/clients/kube/transport-interface.ts";
import type { Pod, PodStatus } from "../../../lib/model/pod.ts";
import type { StatusPatch } from "./api-writer-patch.ts";

type Fields = Record<string, unknown>;

export class FakeApiError extends KubeletError {
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  constructor(status: number, retryAfterMs?: number) {
    super("KubeApi", `the server responded with ${status}`);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** How a request fails: it is not received, its response is lost, or it gets an HTTP status. */
export type Fault = "not-received" | "response-lost" | number;

/** The pods of a fake API server: UID and resource version preconditions, patches of the status, deletion. */
export class FakePodApi {
  readonly pods = new Map<string, Pod>();
  readonly requests: string[] = [];
  readonly patches: StatusPatch[] = [];
  fault: (call: KubeRequest) => Fault | undefined = () => undefined;
  /** Called for each status that was written by a request. */
  onWrite: (before: Pod, after: Pod) => void = () => {};
  onDelete: (pod: Pod, body: { gracePeriodSeconds?: number }) => void = () => {};
  /** Fields of the status that this server does not know. */
  unknownFields: string[] = [];
  #version = 0;

  put(pod: Pod): Pod {
    const stored = structuredClone(pod);
    stored.metadata = { ...stored.metadata, resourceVersion: String(++this.#version) };
    this.pods.set(keyOf(pod), stored);
    return stored;
  }

  /** A write by another client. */
  change(pod: Pod, edit: (pod: Pod) => void): void {
    const copy = structuredClone(this.pods.get(keyOf(pod)) ?? pod);
    edit(copy);
    this.put(copy);
  }

  status(pod: Pod): PodStatus | undefined {
    return this.pods.get(keyOf(pod))?.status;
  }

  request = async <T>(call: KubeRequest): Promise<T> => {
    this.requests.push(`${call.method} ${call.path}`);
    const fault = this.fault(call);
    await Promise.resolve();
    if (fault === "not-received") throw new KubeletError("Transport", "connection refused");
    if (typeof fault === "number") throw new FakeApiError(fault);
    const response = structuredClone(this.#handle(call));
    if (fault === "response-lost") throw new KubeletError("Transport", "connection reset");
    return response as T;
  };

  #handle({ method, path, body }: KubeRequest): Pod {
    const [, key = "", sub = ""] = /namespaces\/([^/]+\/pods\/[^/]+)(\/status)?$/.exec(path) ?? [];
    const pod = this.pods.get(key);
    if (!pod) throw new FakeApiError(404);
    if (method === "GET") return pod;
    if (method === "DELETE") {
      const options = body as { preconditions?: { uid?: string }; gracePeriodSeconds?: number };
      if (options.preconditions?.uid !== pod.metadata.uid) throw new FakeApiError(409);
      this.onDelete(pod, options);
      this.pods.delete(key);
      return pod;
    }
    if (method !== "PATCH" || sub !== "/status") throw new FakeApiError(405);
    const patch = body as StatusPatch;
    const { uid, resourceVersion } = patch.metadata;
    if (uid !== pod.metadata.uid) throw new FakeApiError(409);
    if (resourceVersion !== pod.metadata.resourceVersion) throw new FakeApiError(409);
    this.patches.push(patch);
    const status = merge((pod.status ?? {}) as Fields, patch.status);
    for (const field of this.unknownFields) delete status[field];
    const after = this.put({ ...pod, status: status as PodStatus });
    this.onWrite(pod, after);
    return after;
  }
}

function keyOf({ metadata: { namespace, name } }: Pod): string {
  return `${namespace}/pods/${name}`;
}

/** Applies a strategic merge patch; supports only what a status needs. */
function merge(target: Fields, patch: Fields): Fields {
  const result = { ...target };
  for (const [field, value] of Object.entries(patch)) {
    const old = target[field];
    if (field.startsWith("$")) continue;
    if (value === null) delete result[field];
    else if (isKeyed(field)) {
      const key = field === "conditions" ? "type" : "ip";
      result[field] = mergeList((old ?? []) as Fields[], value as Fields[], key);
    } else if (isObject(value) && isObject(old)) result[field] = merge(old, value);
    else result[field] = value;
  }
  for (const [field, order] of Object.entries(patch)) {
    const name = field.replace("$setElementOrder/", "");
    if (name === field) continue;
    const at = (item: Fields) =>
      (order as Fields[]).findIndex((o) => Object.entries(o).every(([k, v]) => item[k] === v));
    result[name] = [...((result[name] ?? []) as Fields[])].sort((a, b) => at(a) - at(b));
  }
  return result;
}

function mergeList(list: Fields[], patches: Fields[], key: string): Fields[] {
  let result = [...list];
  for (const patch of patches) {
    const at = result.findIndex((item) => item[key] === patch[key]);
    if (patch.$patch === "delete") result = result.filter((_, i) => i !== at);
    else if (at < 0) result.push(patch);
    else result[at] = merge(result[at] ?? {}, patch);
  }
  return result;
}

function isKeyed(field: string): boolean {
  return field === "conditions" || field === "podIPs" || field === "hostIPs";
}
