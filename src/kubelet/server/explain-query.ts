/** Which pods to explain: those that are not ready, all, or one. */
export type ExplainQuery = { readonly all: boolean } | { readonly pod: string };

/** Undefined if there is no such pod. */
export type Explain = (query: ExplainQuery) => object | undefined;

/** `?pod=NAME`, `?pod=NAMESPACE/NAME` or `?pod=UID`; `?all`; neither: those that are not ready. */
export function explainQueryOf(query: URLSearchParams): ExplainQuery {
  const pod = query.get("pod");
  return pod ? { pod } : { all: query.has("all") };
}
