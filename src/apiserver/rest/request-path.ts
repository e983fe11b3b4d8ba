/** The target of a request path. */
export type Target =
  | ResourceTarget
  /** /version, /healthz, /apis/apps/v1: neither an object nor a collection. */
  | { readonly kind: "other"; readonly path: string };

export interface ResourceTarget {
  readonly kind: "resource";
  readonly apiVersion: string;
  readonly group: string;
  readonly version: string;
  /** "" if the path has none. */
  readonly namespace: string;
  /** Plural. */
  readonly resource: string;
  readonly name: string;
  readonly subresource: string;
  /** The path after the subresource, unchanged: "/metrics", or "". */
  readonly rest: string;
  /** The path has a segment after the name; the resource may not have such a subresource. */
  readonly path: string;
}

/** Subresources of namespaces; any other segment is a resource in the namespace. */
const ofNamespaces = new Set(["status", "finalize"]);

/** Parses a path without its query. Undefined if an escape sequence is invalid. */
export function parsePath(path: string): Target | undefined {
  const raw = path.split("/").slice(1);
  const at = raw[0] === "api" ? 2 : raw[0] === "apis" ? 3 : Number.POSITIVE_INFINITY;
  if (raw.length <= at || raw[at] === "") return { kind: "other", path };
  let parts: string[];
  try {
    parts = raw.map(decodeURIComponent);
  } catch {
    return undefined;
  }
  const group = at === 2 ? "" : parts[1]!;
  const version = parts[at - 1]!;
  let from = at;
  let namespace = "";
  const below = parts[at] === "namespaces" ? (parts[at + 2] ?? "") : "";
  if (below !== "" && !ofNamespaces.has(below)) {
    namespace = parts[at + 1]!;
    // No path of an object has an empty namespace: it would be read as one of another resource.
    if (namespace === "") return { kind: "other", path };
    from = at + 2;
  }
  const [resource = "", name = "", subresource = "", ...more] = parts.slice(from);
  return {
    kind: "resource",
    apiVersion: group === "" ? version : `${group}/${version}`,
    group,
    version,
    namespace,
    resource,
    name,
    subresource,
    path,
    rest: more.length === 0 ? "" : `/${raw.slice(from + 3).join("/")}`,
  };
}
