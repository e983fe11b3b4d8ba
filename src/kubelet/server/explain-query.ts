/** Which pods are to be explained: all that are not ready, all, or the one that is meant. */
export type ExplainQuery = { readonly all: boolean } | { readonly pod: string };

/** Undefined if there is no such pod. */
export type Explain = (wanted: ExplainQuery) => object | undefined;

/** `?pod=NAME`, `?pod=NAMESPACE/NAME` or `?pod=UID`; `?all`; nothing: those that are not ready. */
export function explainQueryOf(query: URLSearchParams): ExplainQuery {
  const pod = query.get("pod");
  return pod ? { pod } : { all: query.has("all") };
}
