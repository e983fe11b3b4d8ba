import { loginFragment } from "../../protocol.ts";

export const podTabs = ["overview", "logs", "terminal", "events", "yaml"] as const;
export type PodTab = (typeof podTabs)[number];

export type Route =
  | { readonly view: "node" }
  | { readonly view: "pods"; readonly query: ReadonlyMap<string, string> }
  | { readonly view: "pod"; readonly namespace: string; readonly name: string; readonly tab: PodTab }
  | { readonly view: "apply" }
  | { readonly view: "unknown"; readonly path: string };

/** The view of a fragment such as "#/pods/default/web/logs". */
export function parseRoute(hash: string): Route {
  // A link that logs in opens the node.
  if (hash.startsWith(loginFragment)) return { view: "node" };
  const [path = "", search = ""] = hash.replace(/^#/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean).map(decode);
  const [view, namespace, name, tab = "overview", ...rest] = parts;
  if (view === undefined || (view === "node" && parts.length === 1)) return { view: "node" };
  if (view === "apply" && parts.length === 1) return { view: "apply" };
  if (view === "pods" && parts.length === 1)
    return { view: "pods", query: new Map(new URLSearchParams(search)) };
  if (view === "pods" && namespace && name && isTab(tab) && rest.length === 0)
    return { view: "pod", namespace, name, tab };
  return { view: "unknown", path };
}

export function routeHash(route: Route): string {
  switch (route.view) {
    case "node":
      return "#/";
    case "apply":
      return "#/apply";
    case "unknown":
      return `#${route.path}`;
    case "pod": {
      const tab = route.tab === "overview" ? "" : `/${route.tab}`;
      return `#/pods/${encodeURIComponent(route.namespace)}/${encodeURIComponent(route.name)}${tab}`;
    }
    case "pods": {
      const search = new URLSearchParams([...route.query].filter(([, value]) => value !== "")).toString();
      return search ? `#/pods?${search}` : "#/pods";
    }
  }
}

const isTab = (text: string): text is PodTab => (podTabs as readonly string[]).includes(text);

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
