import type { PodSummary, UsageSeries } from "../../protocol.ts";

export interface PodFilter {
  readonly text: string;
  /** A phase, or "". */
  readonly state: string;
  readonly namespace: string;
  readonly critical: boolean;
  readonly notReady: boolean;
}

const sortKeys = ["name", "namespace", "status", "ready", "restarts", "age", "cpu", "memory"] as const;
export type SortKey = (typeof sortKeys)[number];
export interface PodSort {
  readonly key: SortKey;
  readonly descending: boolean;
}

export const isDone = (pod: PodSummary): boolean => pod.phase === "Succeeded";
/** A completed pod is not ready either, but there is nothing wrong with it. */
export const needsAttention = (pod: PodSummary): boolean => !pod.ready && !isDone(pod);

/** "critical=true&ns=kube-system&q=web&sort=-age" as in the address of the list. */
export function filterFromQuery(query: ReadonlyMap<string, string>): { filter: PodFilter; sort: PodSort } {
  const sort = query.get("sort") ?? "";
  const key = sortKeys.find((each) => each === sort.replace(/^-/, ""));
  return {
    filter: {
      text: query.get("q") ?? "",
      state: query.get("state") ?? "",
      namespace: query.get("ns") ?? "",
      critical: query.get("critical") === "true",
      notReady: query.get("ready") === "false",
    },
    sort: { key: key ?? "namespace", descending: key !== undefined && sort.startsWith("-") },
  };
}

export function queryOf(filter: PodFilter, sort: PodSort): ReadonlyMap<string, string> {
  const isDefault = sort.key === "namespace" && !sort.descending;
  return new Map([
    ["q", filter.text],
    ["state", filter.state],
    ["ns", filter.namespace],
    ["critical", filter.critical ? "true" : ""],
    ["ready", filter.notReady ? "false" : ""],
    ["sort", isDefault ? "" : `${sort.descending ? "-" : ""}${sort.key}`],
  ]);
}

/** Each part of the text must occur in the name, the namespace, the status, the cause, the address or a label. */
export function matches(pod: PodSummary, filter: PodFilter): boolean {
  if (filter.state && pod.phase !== filter.state) return false;
  if (filter.namespace && pod.namespace !== filter.namespace) return false;
  if (filter.critical && !pod.critical) return false;
  if (filter.notReady && !needsAttention(pod)) return false;
  const parts = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  if (parts.length === 0) return true;
  const labels = Object.entries(pod.labels).map(([key, value]) => `${key}=${value}`);
  const text = [pod.name, pod.namespace, pod.status, pod.cause ?? "", pod.ip, ...labels]
    .join("\n")
    .toLowerCase();
  return parts.every((part) => text.includes(part));
}

export function sortPods(
  pods: readonly PodSummary[],
  { key, descending }: PodSort,
  usage: ReadonlyMap<string, UsageSeries>,
): PodSummary[] {
  const newest = (pod: PodSummary, what: "cpu" | "memory") => usage.get(pod.uid)?.[what].at(-1) ?? -1;
  const compare: Record<SortKey, (a: PodSummary, b: PodSummary) => number> = {
    name: (a, b) => compareText(a.name, b.name),
    namespace: (a, b) => compareText(a.namespace, b.namespace),
    status: (a, b) => rank(a) - rank(b) || compareText(a.status, b.status),
    ready: (a, b) => Number(a.ready) - Number(b.ready),
    restarts: (a, b) => a.restarts - b.restarts,
    // The earlier a pod was created, the greater its age.
    age: (a, b) => (b.createdAt ?? 0) - (a.createdAt ?? 0),
    cpu: (a, b) => newest(a, "cpu") - newest(b, "cpu"),
    memory: (a, b) => newest(a, "memory") - newest(b, "memory"),
  };
  const direction = descending ? -1 : 1;
  return [...pods].sort(
    (a, b) =>
      direction * compare[key](a, b) || compareText(a.namespace, b.namespace) || compareText(a.name, b.name),
  );
}

const rank = (pod: PodSummary): number => ["error", "warning", "ok"].indexOf(pod.health);
const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
