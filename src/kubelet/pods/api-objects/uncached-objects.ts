import type { KubeTransport } from "../../../lib/clients/kube/transport-interface.ts";
import type { RawObject } from "../../../lib/clients/kube/watch-stream.ts";
import { type ApiObject, objectPath, toApiObject } from "./api-object.ts";
import type { ObjectStore } from "./object-store.ts";
import type { ObjectRef } from "./objects-of.ts";

const requestMs = 10_000;

export type ObjectApi = Pick<KubeTransport, "request" | "stream" | "streamsLists">;

/** `fresh`: the latest version. Otherwise the API server may respond from its watch cache. */
export async function fetchObject(
  api: Pick<ObjectApi, "request">,
  ref: ObjectRef,
  { fresh, signal }: { fresh: boolean; signal?: AbortSignal },
): Promise<ApiObject> {
  const raw = await api.request<RawObject>({
    method: "GET",
    path: objectPath(ref),
    query: fresh ? {} : { resourceVersion: "0" },
    timeoutMs: requestMs,
    signal,
  });
  return toApiObject(ref.kind, raw);
}

/** Sends a request each time, whether a pod refers to the object or not. */
export class UncachedObjects implements ObjectStore {
  readonly #api: ObjectApi;

  constructor(api: ObjectApi) {
    this.#api = api;
  }

  addReference(): void {}
  drop(): void {}

  get(ref: ObjectRef, signal: AbortSignal): Promise<ApiObject> {
    return fetchObject(this.#api, ref, { fresh: true, signal });
  }
}
