import type { Pod } from "../../../lib/model/pod.ts";
import type { PodStats } from "../../../lib/model/stats-summary.ts";
import { diskParts, podUsage, requestOf } from "./pod-usage.ts";
import { resourceOf, type Signal } from "./signals.ts";
import type { FsLayout } from "./thresholds.ts";

export interface RankedPod {
  readonly pod: Pod;
  /** Undefined if the pod has no stats: such pods come first. */
  readonly usage: number | undefined;
  readonly request: number;
  readonly priority: number;
}

export interface RankingOptions {
  readonly signal: Signal;
  readonly layout: FsLayout;
  readonly statsOf: (pod: Pod) => PodStats | undefined;
  /** The PodLevelResources gate. */
  readonly podLevel: boolean;
}

/**
 * The order in which pods are evicted: those that use more than they request, then by priority, then by how much more they use than they
 * request. Process IDs cannot be requested: by priority, then by usage. Otherwise the order is kept.
 */
export function rankPods(pods: readonly Pod[], o: RankingOptions): RankedPod[] {
  const resource = resourceOf(o.signal);
  const parts = diskParts(o.signal, o.layout);
  const entries = pods.map((pod) => {
    const stats = o.statsOf(pod);
    const usage = stats && podUsage(pod, stats, resource, parts);
    // Inodes cannot be requested either, but the reference kubelet compares them with the request for storage.
    const request =
      resource === "pids"
        ? 0
        : requestOf(pod, resource === "memory" ? "memory" : "ephemeral-storage", o.podLevel);
    const exceeds = usage !== undefined && usage > (resource === "inodes" ? 0 : request);
    return { pod, usage, request, priority: pod.spec.priority ?? 0, exceeds };
  });
  type Entry = (typeof entries)[number];
  const unknownFirst = (a: Entry, b: Entry) => Number(b.usage === undefined) - Number(a.usage === undefined);
  const exceedingFirst = (a: Entry, b: Entry) => unknownFirst(a, b) || Number(b.exceeds) - Number(a.exceeds);
  const lowestPriority = (a: Entry, b: Entry) => a.priority - b.priority;
  const mostUsage = (a: Entry, b: Entry) =>
    unknownFirst(a, b) || (b.usage ?? 0) - b.request - ((a.usage ?? 0) - a.request);
  return entries.sort((a, b) =>
    resource === "pids"
      ? lowestPriority(a, b) || mostUsage(a, b)
      : exceedingFirst(a, b) || lowestPriority(a, b) || mostUsage(a, b),
  );
}
