import type { ExplainQuery } from "../explain/explain-node.ts";

/** `?node`; `?pod=NAME`, `?pod=NAMESPACE/NAME` or `?pod=UID`; `?all`; neither: those that are not ready. */
export function explainQueryOf(query: URLSearchParams): ExplainQuery {
  if (query.has("node")) return { node: true };
  const pod = query.get("pod");
  return pod ? { pod } : { all: query.has("all") };
}
