import { createHash } from "node:crypto";
import { compareText } from "../patch/text-order.ts";
import { apiVersionOf, type Catalog, type Served, verbsOf } from "../rest/catalog.ts";
import { mediaRanges } from "../rest/media-types.ts";
import type { ResponseWriter } from "../rest/response-writer.ts";
import { groupsOf, resourceList, servedBy, subresourcesOf } from "./resource-lists.ts";

/** The version of the Kubernetes API that is served. */
const versionInfo = {
  major: "1",
  minor: "36",
  emulationMajor: "1",
  emulationMinor: "36",
  minCompatibilityMajor: "1",
  minCompatibilityMinor: "35",
  gitVersion: "v1.36.4",
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "node",
  platform: `linux/${process.arch === "x64" ? "amd64" : process.arch}`,
} as const;

/** Serves the OpenAPI documents below /openapi. */
export interface OpenApi {
  handle(request: {
    readonly path: string;
    readonly accept: string | undefined;
    readonly hash?: string | undefined;
    readonly ifNoneMatch?: string | undefined;
  }): {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: Buffer;
  };
}

export interface DiscoveryOptions {
  readonly catalog: Catalog;
  readonly openapi: OpenApi | undefined;
  /** Other documents, by path. Evaluated for each request. */
  readonly documents: Readonly<Record<string, () => object>>;
  /** "127.0.0.1:6443" */
  readonly address: () => string;
}

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/** Serves API discovery. */
export class Discovery {
  readonly #o: DiscoveryOptions;
  /** The served resources do not change while the server runs, so each document is built once. */
  readonly #documents = new Map<string, CachedDocument>();

  constructor(options: DiscoveryOptions) {
    this.#o = options;
  }

  /** False if nothing is served at that path. */
  async serve(path: string, writer: ResponseWriter, query: URLSearchParams): Promise<boolean> {
    if (path.startsWith("/openapi/")) return this.#serveOpenApi(path, writer, query);
    const { documents } = this.#o;
    if (Object.hasOwn(documents, path)) {
      await writer.object(200, documents[path]!());
      return true;
    }
    const trimmed = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
    const inOne = (trimmed === "/api" || trimmed === "/apis") && wantsAggregated(writer);
    const key = inOne ? `${trimmed} in one` : trimmed;
    let document = this.#documents.get(key);
    if (!document) {
      const value = inOne
        ? aggregated(this.#o.catalog, trimmed === "/api" ? "api" : "apis")
        : this.#describe(trimmed);
      if (!value) return false;
      document = buildDocument(value);
      this.#documents.set(key, document);
    }
    await send(writer, document, inOne ? aggregatedType : "application/json");
    return true;
  }

  async #serveOpenApi(path: string, writer: ResponseWriter, query: URLSearchParams): Promise<boolean> {
    const { accept, "if-none-match": ifNoneMatch } = writer.request.headers;
    const hash = query.get("hash") ?? undefined;
    const found = this.#o.openapi?.handle({ path, accept, hash, ifNoneMatch });
    if (!found || found.status === 404) return false;
    await writer.text(found.status, found.body, found.headers);
    return true;
  }

  #describe(path: string): object | undefined {
    const { catalog, address } = this.#o;
    switch (path) {
      case "/":
        return { paths: this.#paths() };
      case "/version":
        return versionInfo;
      case "/api": {
        const server = { clientCIDR: "0.0.0.0/0", serverAddress: address() };
        return { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [server] };
      }
      case "/apis": {
        const groups = [...groupsOf(catalog)].filter(([group]) => group !== "").map(groupOf);
        return { kind: "APIGroupList", apiVersion: "v1", groups };
      }
    }
    const [, root, first = "", second, ...more] = path.split("/");
    if (more.length > 0) return undefined;
    if (root === "api" && second === undefined && catalog.offers(first)) return resourceList(catalog, first);
    if (root !== "apis" || first === "") return undefined;
    const versions = groupsOf(catalog).get(first);
    if (!versions) return undefined;
    if (second === undefined) return { kind: "APIGroup", apiVersion: "v1", ...groupOf([first, versions]) };
    return versions.includes(second) ? resourceList(catalog, apiVersionOf(first, second)) : undefined;
  }

  #paths(): string[] {
    const { catalog, openapi } = this.#o;
    const groups = [...groupsOf(catalog)].filter(([group]) => group !== "");
    return [
      ...["/api", "/api/v1", "/apis"],
      ...groups.flatMap(([group, versions]) => [
        `/apis/${group}`,
        ...versions.map((version) => `/apis/${group}/${version}`),
      ]),
      ...["/healthz", "/livez", "/readyz", "/version"],
      ...(openapi ? ["/openapi/v2", "/openapi/v3"] : []),
    ].sort(compareText);
  }
}

function groupOf([name, versions]: [string, string[]]): object {
  const all = versions.map((version) => ({ groupVersion: apiVersionOf(name, version), version }));
  return { name, versions: all, preferredVersion: all[0] };
}

function wantsAggregated({ request }: ResponseWriter): boolean {
  return mediaRanges(request.headers.accept ?? "").some(
    ({ type, parameters }) =>
      type === "application/json" &&
      parameters.get("as") === "APIGroupDiscoveryList" &&
      parameters.get("g") === "apidiscovery.k8s.io" &&
      parameters.get("v") === "v2",
  );
}

interface CachedDocument {
  readonly text: string;
  readonly etag: string;
}

function buildDocument(value: object): CachedDocument {
  const text = JSON.stringify(value);
  return { text, etag: `"${createHash("sha256").update(text).digest("hex").toUpperCase()}"` };
}

/** Clients cache these and check whether they are still current. */
async function send(writer: ResponseWriter, { text, etag }: CachedDocument, type: string): Promise<void> {
  const headers = { etag, vary: "Accept", "content-type": type, "cache-control": "public" };
  if (writer.request.headers["if-none-match"] !== etag) return writer.json(200, text, headers);
  writer.writeHead(304, { etag, vary: "Accept" });
  writer.response.end();
}

/** Aggregated discovery: everything below /api or /apis in one response. */
function aggregated(catalog: Catalog, root: "api" | "apis"): object {
  const items = [...groupsOf(catalog)]
    .filter(([group]) => (group === "") === (root === "api"))
    .map(([group, versions]) => ({
      metadata: { ...(group && { name: group }), creationTimestamp: null },
      versions: versions.map((version) => ({
        version,
        resources: servedBy(catalog, apiVersionOf(group, version)).map(resource),
        freshness: "Current",
      })),
    }));
  return { kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2", metadata: {}, items };
}

function resource(served: Served): object {
  const { definition, group, version } = served;
  const { name, singular, namespaced, kind, shortNames, categories } = definition;
  const subresources = subresourcesOf(served).map((sub) => ({
    subresource: sub.name,
    responseKind: { group: sub.group, version: sub.version, kind: sub.kind },
    verbs: sub.verbs,
  }));
  return {
    resource: name,
    responseKind: { group, version, kind },
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: singular,
    verbs: verbsOf(definition),
    ...(shortNames && { shortNames }),
    ...(categories && { categories }),
    ...(subresources.length > 0 && { subresources }),
  };
}
