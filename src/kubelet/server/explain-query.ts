/** Which pods to explain: those that are not ready, all, or one. */
export type PodQuery = { readonly all: boolean } | { readonly pod: string };

/** Pods, or the node. */
export type ExplainQuery = PodQuery | { readonly node: true };

/** Undefined if there is no such pod. */
export type Explain = (query: ExplainQuery) => object | undefined;

/** `?node`; `?pod=NAME`, `?pod=NAMESPACE/NAME` or `?pod=UID`; `?all`; neither: those that are not ready. */
export function explainQueryOf(query: URLSearchParams): ExplainQuery {
  if (query.has("node")) return { node: true };
  const pod = query.get("pod");
  return pod ? { pod } : { all: query.has("all") };
}
