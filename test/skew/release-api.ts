import { KubeApiError } from "../../src/lib/clients/kube/api-error.ts";
import type { KubeRequest, KubeTransport } from "../../src/lib/clients/kube/transport-interface.ts";
import type { FakeApi } from "../cluster/fake-api.ts";
import { features, isServed, type Release, statusFields } from "./api-releases.ts";

type Json = Record<string, unknown>;

/** "resource.k8s.io/v1 resourceclaims" of a path; discovery has no resource. */
function requested(path: string): string {
  const [, group = "", version = "", rest = ""] =
    /^\/(?:api|apis\/([^/]+))\/([^/]+)(?:\/namespaces\/[^/]+)?(?:\/(.*))?$/.exec(path) ?? [];
  return `${group ? `${group}/` : ""}${version} ${rest.split("/")[0]}`;
}

function resourcesOf(requests: readonly string[]): string[] {
  return requests.flatMap((text) => {
    const [version = "", names = ""] = text.split(": ");
    return names.split(", ").map((name) => `${version} ${name}`);
  });
}

export const knownResources: ReadonlySet<string> = new Set(
  features.flatMap(({ requests }) => resourcesOf(requests)),
);

/** The API as a server of this release serves it by default. */
export class ReleaseApi implements KubeTransport {
  readonly #api: FakeApi;
  readonly #served: ReadonlySet<string>;
  readonly #dropped: readonly { kind: string; path: readonly string[] }[];
  /** All requests: "resource.k8s.io/v1 resourceclaims". */
  readonly requested = new Set<string>();
  readonly missing: string[] = [];

  constructor(api: FakeApi, release: Release) {
    this.#api = api;
    this.#served = new Set(
      features.flatMap(({ requests, served }) => (isServed(served, release) ? resourcesOf(requests) : [])),
    );
    this.#dropped = statusFields
      .filter(({ served }) => !isServed(served, release))
      .map(({ kind, path }) => ({ kind, path: path.split(".") }));
  }

  request<T>(call: KubeRequest): Promise<T> {
    const resource = this.#check(call.path);
    return this.#api.request<T>({ ...call, body: this.#stored(resource, call.body as Json | undefined) });
  }

  stream: KubeTransport["stream"] = (call) => {
    this.#check(call.path);
    return this.#api.stream(call);
  };

  close(): void {}

  #check(path: string): string {
    const resource = requested(path);
    this.requested.add(resource);
    if (!this.#served.has(resource)) {
      this.missing.push(resource);
      const message = "the server could not find the requested resource";
      throw new KubeApiError({ status: 404, reason: "NotFound", message });
    }
    return resource;
  }

  #stored(resource: string, body: Json | undefined): Json | undefined {
    if (!body?.status) return body;
    const copy = structuredClone(body);
    for (const { kind, path } of this.#dropped) if (resource === `v1 ${kind}`) drop(copy.status, path);
    return copy;
  }
}

function drop(value: unknown, [name, ...rest]: readonly string[]): void {
  if (Array.isArray(value)) for (const each of value) drop(each, [name!, ...rest]);
  else if (typeof value === "object" && value !== null) {
    const object = value as Json;
    if (rest.length === 0) delete object[name!];
    else drop(object[name!], rest);
  }
}
