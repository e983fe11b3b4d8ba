import type { Pod } from "../../../lib/model/pod.ts";
import { parseQuantity } from "../../../lib/model/quantity.ts";
import { canonicalQuantity, formatQuantity } from "../../../lib/model/quantity-form.ts";
import { hasPodLevelResources } from "../../../lib/model/resources.ts";
import type { ContainerStats, PodStats } from "../../../lib/model/stats-summary.ts";
import { amountText } from "./amount-text.ts";
import type { RankedPod } from "./ranking.ts";
import { type Observations, type Resource, resourceOf } from "./signals.ts";
import { quantityText, type Threshold, unitsOf } from "./thresholds.ts";

export interface EvictionText {
  /** The message of the pod's status, its DisruptionTarget condition and the event. */
  readonly message: string;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface MessageInput {
  readonly pod: Pod;
  readonly stats: PodStats | undefined;
  readonly resource: Resource;
  /** All resources to reclaim, the most urgent first. */
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
  /** The PodLevelResources gate. */
  readonly podLevel: boolean;
}

const unit = 1_000_000_000n;
const bytes = (amount: number) => formatQuantity(BigInt(amount) * unit, "binary");

/** Why a pod is evicted, with the reference kubelet's texts. */
export function evictionText(o: MessageInput): EvictionText {
  const { pod, stats, resource } = o;
  const annotations: Record<string, string> = {};
  let message = `The node was low on resource: ${resource}. ${thresholdText(o)}`;
  if (!stats) return { message, annotations };
  const podRequest = pod.spec.resources?.requests?.memory;
  if (
    resource === "memory" &&
    o.podLevel &&
    hasPodLevelResources(pod) &&
    podRequest !== undefined &&
    stats.memory
  ) {
    const used = bytes(stats.memory.workingSetBytes ?? 0);
    const { name } = pod.metadata;
    message += `Pod ${name} was using ${used}, request is ${canonicalQuantity(podRequest)}, has larger consumption of ${resource}. `;
    annotations.offending_pod = name;
    annotations.offending_pod_usage = used;
  }
  const offending: { name: string; used: string }[] = [];
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  for (const found of stats.containers) {
    const container = containers.find(({ name }) => name === found.name);
    const used = containerUsage(found, resource);
    const request = container?.resources?.requests?.[resource] ?? "0";
    if (!container || used === undefined || BigInt(used) * unit <= (parseQuantity(request) ?? 0n)) continue;
    message += `Container ${found.name} was using ${bytes(used)}, request is ${canonicalQuantity(request)}, has larger consumption of ${resource}. `;
    offending.push({ name: found.name, used: bytes(used) });
  }
  annotations.offending_containers = offending.map(({ name }) => name).join(",");
  annotations.offending_containers_usage = offending.map(({ used }) => used).join(",");
  annotations.starved_resource = resource;
  return { message, annotations };
}

function thresholdText({ resource, thresholds, observations }: MessageInput): string {
  const first = thresholds.find((t) => resourceOf(t.signal) === resource && observations.has(t.signal));
  if (!first) return "";
  const { available, capacity } = observations.get(first.signal)!;
  const form = resource === "inodes" || resource === "pids" ? "decimal" : "binary";
  const left = formatQuantity(BigInt(available) * unit, form);
  return `Threshold quantity: ${quantityText(first.value, capacity)}, available: ${left}. `;
}

function containerUsage({ memory, rootfs, logs }: ContainerStats, resource: Resource): number | undefined {
  if (resource === "memory") return memory?.workingSetBytes;
  if (resource !== "ephemeral-storage") return undefined;
  if (rootfs?.usedBytes === undefined || logs?.usedBytes === undefined) return undefined;
  return rootfs.usedBytes + logs.usedBytes;
}

/** For explanations: which signal was how low. */
export function signalText(threshold: Threshold, observations: Observations): string {
  const { signal, value, graceMs } = threshold;
  const found = observations.get(signal);
  if (!found) return `${signal} is unknown`;
  const resource = resourceOf(signal);
  const limit = amountText(resource, unitsOf(value, found.capacity));
  const configured = "fraction" in value ? `${limit} (${value.text})` : limit;
  const kind = graceMs === 0 ? "hard" : "soft";
  return `${signal} is ${amountText(resource, found.available)}, below the ${kind} threshold of ${configured}`;
}

/** For explanations: why this pod and not another. */
export function choiceText(chosen: RankedPod, resource: Resource, candidates: number): string {
  const { usage, request, priority } = chosen;
  const among = `chosen from ${candidates} ${candidates === 1 ? "pod" : "pods"}`;
  if (usage === undefined) return `${among}: its usage is unknown, priority ${priority}`;
  const used = `it uses ${amountText(resource, usage)}`;
  if (resource === "pids" || resource === "inodes")
    return `${among}: ${used} ${resource === "pids" ? "processes" : "inodes"}, priority ${priority}`;
  const over = usage - request;
  const compared =
    over > 0
      ? `${amountText(resource, over)} more than it requests`
      : `not more than it requests (${amountText(resource, request)})`;
  return `${among}: ${used} of ${resource}, ${compared}, priority ${priority}`;
}
