import type { RouteAttributes } from "../route.ts";

/** HEAD has no verb, as with the reference kubelet. */
const verbs: Readonly<Record<string, string>> = {
  GET: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/** The sufficient subresources for each first segment of a path. `proxy` is the general permission. */
const subresources: Readonly<Record<string, readonly string[]>> = {
  pods: ["pods", "proxy"],
  runningpods: ["pods", "proxy"],
  healthz: ["healthz", "proxy"],
  configz: ["configz", "proxy"],
  stats: ["stats"],
  metrics: ["metrics"],
  logs: ["log"],
  checkpoint: ["checkpoint"],
  manifests: ["manifests", "proxy"],
  statusz: ["statusz"],
  flagz: ["configz"],
};

/** The permissions that a request needs, by its method and path. */
export function attributesOf(method: string, path: string): RouteAttributes {
  const first = path.split("/")[1] ?? "";
  return {
    verb: verbs[method] ?? "",
    subresources: (Object.hasOwn(subresources, first) ? subresources[first] : undefined) ?? ["proxy"],
  };
}
