import { replyJson } from "../../src/kubelet/server/replies.ts";
import type { Route } from "../../src/kubelet/server/route.ts";
import type { Pod } from "../../src/lib/model/pod.ts";

/** The minimal API that kubectl needs to find one pod, in front of the node's own routes. */
export function apiRoutes(pod: Pod, routes: readonly Route[]): Route[] {
  const base = "/api/v1/namespaces/{namespace}/pods/{pod}";
  const attributes = () => ({ verb: "get", subresources: [] });
  const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
  const of = (name: string, path: string) =>
    ["GET", "POST"].map((method): Route => {
      const own = routes.find((route) => route.method === method && route.path === path);
      return {
        method,
        path: `${base}/${name}`,
        attributes,
        handle: async () => {},
        upgrade: async (exchange) => {
          const params = { ...exchange.params, container: exchange.query.get("container") ?? "" };
          await own?.upgrade?.({ ...exchange, params });
        },
      };
    });
  const document = (path: string, value: object): Route => ({
    method: "GET",
    path,
    attributes,
    handle: async ({ response }) => replyJson(response, value),
  });
  const resource = { name: "pods", singularName: "pod", namespaced: true, kind: "Pod", verbs: ["get"] };
  return [
    document("/api", { kind: "APIVersions", versions: ["v1"] }),
    document("/apis", { kind: "APIGroupList", apiVersion: "v1", groups: [] }),
    document("/api/v1", { kind: "APIResourceList", groupVersion: "v1", resources: [resource] }),
    {
      method: "GET",
      path: base,
      attributes,
      handle: async ({ response }) => replyJson(response, { ...pod, status }),
    },
    ...of("exec", "/exec/{namespace}/{pod}/{container}"),
    ...of("attach", "/attach/{namespace}/{pod}/{container}"),
    ...of("portforward", "/portForward/{namespace}/{pod}"),
  ];
}

/** A kubeconfig for kubectl to reach it. */
export function kubeconfigFor(port: number): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "x",
    clusters: [
      { name: "x", cluster: { server: `https://127.0.0.1:${port}`, "insecure-skip-tls-verify": true } },
    ],
    contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
    users: [{ name: "x", user: { token: "x" } }],
  });
}
