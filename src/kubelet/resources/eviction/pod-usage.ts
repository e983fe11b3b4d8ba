import type { Pod } from "../../../lib/model/pod.ts";
import { hasPodLevelResources, isPodLevelResource, podRequests } from "../../../lib/model/resources.ts";
import type { PodStats } from "../../../lib/model/stats-summary.ts";
import type { Resource, Signal } from "./signals.ts";
import type { FsLayout } from "./thresholds.ts";

/** Parts of a pod's disk usage. */
type DiskPart = "writable layers" | "logs" | "volumes";

/** The parts that are on the filesystem of the signal. */
export function diskParts(signal: Signal, layout: FsLayout): readonly DiskPart[] {
  if (!layout.dedicatedImageFs) return ["writable layers", "logs", "volumes"];
  if (layout.splitContainerFs)
    return signal.startsWith("imagefs.") ? [] : ["logs", "volumes", "writable layers"];
  return signal.startsWith("nodefs.") ? ["logs", "volumes"] : ["writable layers"];
}

/** The pod's usage of the resource; missing parts count as 0. */
export function podUsage(pod: Pod, stats: PodStats, resource: Resource, parts: readonly DiskPart[]): number {
  switch (resource) {
    case "memory":
      return stats.memory?.workingSetBytes ?? 0;
    case "pids":
      return stats.process_stats?.process_count ?? 0;
    case "ephemeral-storage":
      return diskUsage(pod, stats, "usedBytes", parts);
    case "inodes":
      return diskUsage(pod, stats, "inodesUsed", parts);
    default:
      return resource satisfies never;
  }
}

function diskUsage(
  pod: Pod,
  stats: PodStats,
  key: "usedBytes" | "inodesUsed",
  parts: readonly DiskPart[],
): number {
  let sum = 0;
  for (const { rootfs, logs } of stats.containers) {
    if (parts.includes("writable layers")) sum += rootfs?.[key] ?? 0;
    if (parts.includes("logs")) sum += logs?.[key] ?? 0;
  }
  if (parts.includes("volumes")) {
    const volumes = new Map(stats.volume?.map((volume) => [volume.name, volume]));
    for (const volume of pod.spec.volumes ?? [])
      if (isLocal(volume)) sum += volumes.get(volume.name)?.[key] ?? 0;
  }
  return sum;
}

/** The local volumes, as in the reference kubelet: hostPath and local ephemeral ones. */
function isLocal(volume: NonNullable<Pod["spec"]["volumes"]>[number]): boolean {
  if (volume.emptyDir) return !volume.emptyDir.medium;
  return [volume.hostPath, volume.gitRepo, volume.configMap].some((source) => source !== undefined);
}

/** The pod's request for a resource, in whole units. Pod-level resources replace the resources of its containers. */
export function requestOf(pod: Pod, resource: "memory" | "ephemeral-storage", podLevel: boolean): number {
  const own = podLevel && hasPodLevelResources(pod);
  const amount = podRequests(own ? { ...pod, spec: withoutContainers(pod) } : pod, {
    excludeOverhead: true,
    podLevel,
  }).get(resource);
  // Overhead alone is not a request.
  if (!amount) return 0;
  const total = podRequests(own ? { ...pod, spec: withoutContainers(pod) } : pod, { podLevel });
  return Number(total.get(resource) ?? 0n) / 1e9;
}

function withoutContainers({ spec }: Pod): Pod["spec"] {
  const requests = Object.fromEntries(
    Object.entries(spec.resources?.requests ?? {}).filter(([name]) => isPodLevelResource(name)),
  );
  return { ...spec, containers: [], initContainers: [], resources: { ...spec.resources, requests } };
}
