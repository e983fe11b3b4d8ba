import { KubeletError } from "../../base/errors.ts";
import { failureOf } from "./reflector-plan.ts";
import type { KubeTransport, Query } from "./transport-interface.ts";
import type { RawObject } from "./watch-stream.ts";

interface ListResponse {
  metadata?: { resourceVersion?: string; continue?: string };
  items?: RawObject[] | null;
}

export interface ListRequest {
  transport: Pick<KubeTransport, "request">;
  path: string;
  selectors: Query;
  from: string;
  /** 0: all in one response. */
  pageSize: number;
  timeoutMs: number;
  signal: AbortSignal;
  /** Gets each page, so that not all of them have to be in memory; `restart` discards the previous ones. */
  page: (items: RawObject[]) => void;
  restart: () => void;
}

export interface Listed {
  resourceVersion: string;
  paged: boolean;
}

/** Far more than the objects of one kind in a large cluster. */
const maxPages = 10_000;

/** Lists all objects, page by page. When a continue token expires, all of them in one response. */
export async function listPages(request: ListRequest): Promise<Listed> {
  const { path, from, pageSize, page, restart } = request;
  const first = await fetchPage(request, {
    resourceVersion: from || undefined,
    limit: pageSize || undefined,
  });
  page(first.items);
  let next = first.next;
  const paged = next !== "";
  const tokens = new Set<string>();
  while (next !== "") {
    if (tokens.has(next) || tokens.size >= maxPages) throw endless(path);
    tokens.add(next);
    try {
      // A continue token implies its version: a request with both is rejected.
      const more = await fetchPage(request, { continue: next, limit: pageSize || undefined });
      page(more.items);
      next = more.next;
    } catch (error) {
      if (failureOf(error) !== "expired") throw error;
      restart();
      const whole = await fetchPage(request, { resourceVersion: from || undefined });
      page(whole.items);
      return { resourceVersion: whole.resourceVersion, paged };
    }
  }
  // The version of the first page: if a server's pages are not consistent, the watch repeats changes that later pages contained.
  return { resourceVersion: first.resourceVersion, paged };
}

async function fetchPage(request: ListRequest, query: Query) {
  const { transport, path, selectors, timeoutMs, signal } = request;
  const response = await transport.request<ListResponse | undefined>({
    method: "GET",
    path,
    query: { ...selectors, ...query },
    signal,
    timeoutMs,
  });
  const items = response?.items ?? [];
  const resourceVersion = response?.metadata?.resourceVersion;
  if (!Array.isArray(items) || typeof resourceVersion !== "string" || resourceVersion === "")
    throw new KubeletError("NotAList", `the response for ${path} is not a list of objects`);
  const next = response?.metadata?.continue ?? "";
  if (typeof next !== "string")
    throw new KubeletError("NotAList", `the continue token of ${path} is not a text`);
  return { items, resourceVersion, next };
}

function endless(path: string): KubeletError {
  return new KubeletError(
    "NotAList",
    `the list of ${path} does not end: its continue tokens repeat, or are too many`,
  );
}
