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
    super("KubeApi", `the server answered ${status}`);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** What goes wrong with a request: nobody hears it, it is done and nobody hears the answer, or it is refused. */
export type Fault = "unheard" | "unanswered" | number;

/** The pods of an API server for tests: UID and resource version preconditions, patches of the status, deletion. */
export class FakePodApi {
  readonly pods = new Map<string, Pod>();
  readonly requests: string[] = [];
  readonly patches: StatusPatch[] = [];
  fault: (call: KubeRequest) => Fault | undefined = () => undefined;
  /** Hears of each status that was written here by way of a request. */
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

  /** Somebody else writes. */
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
    if (fault === "unheard") throw new KubeletError("Transport", "connection refused");
    if (typeof fault === "number") throw new FakeApiError(fault);
    const answer = structuredClone(this.#answer(call));
    if (fault === "unanswered") throw new KubeletError("Transport", "connection reset");
    return answer as T;
  };

  #answer({ method, path, body }: KubeRequest): Pod {
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

/** A strategic merge patch, as far as a status needs it. */
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
