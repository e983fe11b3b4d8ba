import { KubeletError } from "../../base/errors.ts";
import { failureOf } from "./list-watch-plan.ts";
import type { KubeTransport, Query } from "./transport-interface.ts";
import type { RawObject } from "./watch-stream.ts";

interface ListAnswer {
  metadata?: { resourceVersion?: string; continue?: string };
  items?: RawObject[] | null;
}

export interface ListRequest {
  transport: Pick<KubeTransport, "request">;
  path: string;
  selectors: Query;
  from: string;
  /** 0: all in one answer. */
  pageSize: number;
  timeoutMs: number;
  signal: AbortSignal;
  /** Takes each page as it comes, so that not all of them have to be in memory; `restart` discards those before. */
  page: (items: RawObject[]) => void;
  restart: () => void;
}

export interface Listed {
  resourceVersion: string;
  paged: boolean;
}

/** Requests all objects, page by page. When the pages expire on the way, all of them in one response. */
export async function listPages(question: ListRequest): Promise<Listed> {
  const { from, pageSize, page, restart } = question;
  const first = await fetchPage(question, {
    resourceVersion: from || undefined,
    limit: pageSize || undefined,
  });
  page(first.items);
  let next = first.next;
  const paged = next !== "";
  while (next !== "") {
    try {
      // A continuation stands for the version that it continues: to name one beside it is refused.
      const more = await fetchPage(question, { continue: next, limit: pageSize || undefined });
      page(more.items);
      next = more.next;
    } catch (error) {
      if (failureOf(error) !== "expired") throw error;
      restart();
      const whole = await fetchPage(question, { resourceVersion: from || undefined });
      page(whole.items);
      return { resourceVersion: whole.resourceVersion, paged };
    }
  }
  // Of the first page: should a server's pages not be of one moment, the watch repeats what the later ones contained.
  return { resourceVersion: first.resourceVersion, paged };
}

async function fetchPage(question: ListRequest, query: Query) {
  const { transport, path, selectors, timeoutMs, signal } = question;
  const answer = await transport.request<ListAnswer | undefined>({
    method: "GET",
    path,
    query: { ...selectors, ...query },
    signal,
    timeoutMs,
  });
  const items = answer?.items ?? [];
  const resourceVersion = answer?.metadata?.resourceVersion;
  if (!Array.isArray(items) || typeof resourceVersion !== "string" || resourceVersion === "")
    throw new KubeletError("NotAList", `the answer for ${path} is not a list of objects`);
  return { items, resourceVersion, next: answer?.metadata?.continue ?? "" };
}
