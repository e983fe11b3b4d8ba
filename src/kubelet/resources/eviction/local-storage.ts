import type { Pod } from "../../../lib/model/pod.ts";
import { parseQuantity, wholeUnits } from "../../../lib/model/quantity.ts";
import { canonicalQuantity, formatQuantity } from "../../../lib/model/quantity-form.ts";
import { podLimits } from "../../../lib/model/resources.ts";
import type { FsStats, PodStats } from "../../../lib/model/stats-summary.ts";
import { amountText } from "./amount-text.ts";

const storage = "ephemeral-storage";

export interface ExceededLimit {
  /** The label of the eviction metric. */
  readonly signal: "emptydirfs.limit" | "ephemeralpodfs.limit" | "ephemeralcontainerfs.limit";
  readonly message: string;
  /** For explanations. */
  readonly detail: string;
}

/** True if the pod limits the storage of an emptyDir volume, a container or the whole pod. */
export function limitsStorage(pod: Pod): boolean {
  return emptyDirLimits(pod).length > 0 || limitsContainers(pod);
}

/** The first limit of local ephemeral storage that the pod exceeds: of a volume, of the pod, of a container. */
export function exceededStorageLimit(
  pod: Pod,
  stats: PodStats,
  o: { readonly dedicatedImageFs: boolean },
): ExceededLimit | undefined {
  return exceededEmptyDir(pod, stats) ?? exceededPodLimit(pod, stats) ?? exceededContainer(pod, stats, o);
}

function exceededEmptyDir(pod: Pod, stats: PodStats): ExceededLimit | undefined {
  const volumes = new Map(stats.volume?.map((volume) => [volume.name, volume]));
  for (const { name, limit } of emptyDirLimits(pod)) {
    const used = volumes.get(name)?.usedBytes ?? 0;
    if (BigInt(used) <= wholeUnits(limit)) continue;
    return {
      signal: "emptydirfs.limit",
      message: `Usage of EmptyDir volume "${name}" exceeds the limit "${canonicalQuantity(limit)}". `,
      detail: `emptyDir volume ${name} uses ${amountText(storage, used)}, its limit is ${canonicalQuantity(limit)}`,
    };
  }
  return undefined;
}

function exceededPodLimit(pod: Pod, stats: PodStats): ExceededLimit | undefined {
  const limit = podLimits(pod).get(storage);
  const used = stats[storage]?.usedBytes ?? 0;
  if (limit === undefined || BigInt(used) * 1_000_000_000n <= limit) return undefined;
  const text = formatQuantity(limit, isBinary(pod) ? "binary" : "decimal");
  return {
    signal: "ephemeralpodfs.limit",
    message: `Pod ephemeral local storage usage exceeds the total limit of containers ${text}. `,
    detail: `its containers, logs and volumes use ${amountText(storage, used)} of local storage, their limits add up to ${text}`,
  };
}

function exceededContainer(
  pod: Pod,
  stats: PodStats,
  o: { readonly dedicatedImageFs: boolean },
): ExceededLimit | undefined {
  for (const { name, logs, rootfs } of stats.containers) {
    const limit = pod.spec.containers.find((c) => c.name === name)?.resources?.limits?.[storage];
    if (limit === undefined || wholeUnits(limit) === 0n) continue;
    // Writable layers on another disk are not included, as in the reference kubelet.
    const used = usedOf(logs) + (o.dedicatedImageFs ? 0 : usedOf(rootfs));
    if (BigInt(used) <= wholeUnits(limit)) continue;
    const text = canonicalQuantity(limit);
    return {
      signal: "ephemeralcontainerfs.limit",
      message: `Container ${name} exceeded its local ephemeral storage limit "${text}". `,
      detail: `container ${name} uses ${amountText(storage, used)} of local storage, its limit is ${text}`,
    };
  }
  return undefined;
}

function emptyDirLimits({ spec }: Pod): { name: string; limit: string }[] {
  return (spec.volumes ?? []).flatMap(({ name, emptyDir }) => {
    const limit = emptyDir?.sizeLimit;
    return limit !== undefined && (parseQuantity(limit) ?? 0n) > 0n ? [{ name, limit }] : [];
  });
}

export function limitsContainers(pod: Pod): boolean {
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  return all.some(({ resources }) => resources?.limits?.[storage] !== undefined);
}

/** The sum has the form of its first part. */
function isBinary({ spec }: Pod): boolean {
  const limits = [...spec.containers, ...(spec.initContainers ?? [])].map(
    (c) => c.resources?.limits?.[storage],
  );
  return limits.find((text) => text !== undefined)?.endsWith("i") ?? true;
}

function usedOf(fs: FsStats | undefined): number {
  return fs?.usedBytes ?? 0;
}
