import type { CgroupResources } from "../../../lib/host/cgroups/cgroup-filesystem.ts";
import { hasExclusiveCpus, type PodLevelManagers } from "../../../lib/model/exclusive-cpus.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { podQos } from "../../../lib/model/qos.ts";
import {
  amountsOf,
  hasPodLevelResources,
  hugepageAmounts,
  limitsByStep,
  milliCpuToQuota,
  milliCpuToShares,
  milliOf,
  minCpuShares,
  podLimits,
  podRequests,
  type ResourceAmounts,
  wholeOf,
} from "../../../lib/model/resources.ts";

export interface LimitSettings {
  readonly cpuCfsQuota: boolean;
  readonly cpuCfsQuotaPeriodUs: bigint;
  /** A pod has no quota if a container requests exclusive CPUs, and gets them. */
  readonly noQuotaOnExclusiveCpus?: boolean;
  /** Whether containers of pods with pod-level resources can have exclusive CPUs. */
  readonly podLevelManagers?: PodLevelManagers | undefined;
  /** -1 or 0: no limit. */
  readonly podPidsLimit: bigint;
  /** The PodLevelResources gate. */
  readonly podLevelResources: boolean;
  /** The MemoryQoS gate, on a host with cgroup v2. */
  readonly memoryQos: boolean;
  readonly memoryReservationPolicy: "None" | "TieredReservation";
  readonly hugepageSizes: readonly string[];
  /** qosReserved, with the QOSReserved gate: the share of requested memory that pods of lower QoS classes cannot use. */
  readonly qosReserved?: { readonly memoryPercent: bigint; readonly allocatableMemory: bigint } | undefined;
}

/** A number that no host reaches, within the range of the kernel. */
const unbounded = 1n << 62n;

/**
 * The limits of a pod's own cgroup. A Burstable pod is bounded in CPU or memory only if it is at every step of its
 * lifecycle: a container without a limit makes the pod unlimited.
 */
export function podCgroupLimits(pod: Pod, settings: LimitSettings): CgroupResources {
  const podLevel = settings.podLevelResources;
  const requests = podRequests(pod, { podLevel });
  const limits = podLimits(pod, { podLevel });
  const qos = podQos(pod, { podLevel });
  const isExclusive =
    settings.noQuotaOnExclusiveCpus &&
    hasExclusiveCpus(pod, { podLevel, podLevelManagers: settings.podLevelManagers });
  const quota =
    settings.cpuCfsQuota && !isExclusive
      ? milliCpuToQuota(milliOf(limits, "cpu"), settings.cpuCfsQuotaPeriodUs)
      : -1n;
  const cpu = { cpuQuota: quota, cpuPeriod: settings.cpuCfsQuotaPeriodUs };
  const memory = { memory: wholeOf(limits, "memory") };
  const bounded = (name: string) =>
    qos === "Guaranteed" || (qos === "Burstable" && isBounded(pod, name, podLevel));
  return {
    cpuShares: qos === "BestEffort" ? minCpuShares : milliCpuToShares(milliOf(requests, "cpu")),
    ...(bounded("cpu") ? cpu : {}),
    ...(bounded("memory") ? memory : {}),
    ...(settings.podPidsLimit > 0n ? { pids: settings.podPidsLimit } : {}),
    hugepages: everySize(settings.hugepageSizes, hugepageAmounts(requests)),
    ...memoryProtection(requests, qos === "Guaranteed", settings),
  };
}

function isBounded(pod: Pod, name: string, podLevel: boolean): boolean {
  if (podLevel && hasPodLevelResources(pod) && amountsOf(pod.spec.resources?.limits).get(name)) return true;
  return limitsByStep(pod).every((step) => (step.get(name) ?? 0n) !== 0n);
}

function memoryProtection(
  requests: ResourceAmounts,
  guaranteed: boolean,
  settings: LimitSettings,
): CgroupResources {
  const request = wholeOf(requests, "memory");
  if (!settings.memoryQos || settings.memoryReservationPolicy !== "TieredReservation" || request === 0n)
    return {};
  return { unified: { [guaranteed ? "memory.min" : "memory.low"]: String(request) } };
}

export interface QosCgroupLimits {
  readonly root: CgroupResources;
  readonly burstable: CgroupResources;
  readonly bestEffort: CgroupResources;
}

/** The QoS cgroups share the CPU by the requests of their pods; BestEffort gets the minimum. */
export function qosCgroupLimits(pods: readonly Pod[], settings: LimitSettings): QosCgroupLimits {
  const podLevel = settings.podLevelResources;
  const cpu = pods
    .filter((pod) => podQos(pod, { podLevel }) === "Burstable")
    .reduce((sum, pod) => sum + milliOf(podRequests(pod, { podLevel }), "cpu"), 0n);
  const hugepages = new Map(settings.hugepageSizes.map((size) => [size, unbounded]));
  const { guaranteed, burstable } = reservedMemory(pods, settings);
  // The memory.min of a parent must cover the memory.min of its children, otherwise theirs has no effect.
  const min = settings.memoryQos && { unified: { "memory.min": String(guaranteed + burstable) } };
  const low = settings.memoryQos && { unified: { "memory.low": String(burstable) } };
  const memory = withoutReserved(pods, settings);
  return {
    root: { hugepages, ...min },
    burstable: { cpuShares: milliCpuToShares(cpu), hugepages, ...low, ...memory?.burstable },
    bestEffort: { cpuShares: minCpuShares, hugepages, ...memory?.bestEffort },
  };
}

/** The memory that is left to a QoS class without what is reserved for pods of higher ones. */
function withoutReserved(
  pods: readonly Pod[],
  { qosReserved, podLevelResources: podLevel }: LimitSettings,
): { burstable: CgroupResources; bestEffort: CgroupResources } | undefined {
  if (!qosReserved || qosReserved.allocatableMemory === 0n) return undefined;
  const { memoryPercent, allocatableMemory } = qosReserved;
  const requested = requestedMemory(pods, podLevel);
  const burstable = allocatableMemory - (requested.guaranteed * memoryPercent) / 100n;
  const bestEffort = burstable - (requested.burstable * memoryPercent) / 100n;
  // 0 is no limit.
  const limit = (memory: bigint) => (memory === 0n ? {} : { memory });
  return { burstable: limit(burstable), bestEffort: limit(bestEffort) };
}

/** Bytes that the kernel does not reclaim from Guaranteed pods, and from Burstable ones only if it has to. */
export function reservedMemory(
  pods: readonly Pod[],
  { memoryQos, memoryReservationPolicy, podLevelResources: podLevel }: LimitSettings,
): { guaranteed: bigint; burstable: bigint } {
  if (!memoryQos || memoryReservationPolicy !== "TieredReservation") return { guaranteed: 0n, burstable: 0n };
  return requestedMemory(pods, podLevel);
}

/** Bytes that the pods of a QoS class request. */
function requestedMemory(pods: readonly Pod[], podLevel: boolean): { guaranteed: bigint; burstable: bigint } {
  const sums = { guaranteed: 0n, burstable: 0n };
  for (const pod of pods) {
    const bytes = wholeOf(podRequests(pod, { podLevel }), "memory");
    const qos = podQos(pod, { podLevel });
    if (qos === "Guaranteed") sums.guaranteed += bytes;
    if (qos === "Burstable") sums.burstable += bytes;
  }
  return sums;
}

function everySize(sizes: readonly string[], requested: ReadonlyMap<string, bigint>): Map<string, bigint> {
  return new Map(sizes.map((size) => [size, requested.get(size) ?? 0n]));
}
