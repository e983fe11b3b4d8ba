import type { MessageInitShape } from "@bufbuild/protobuf";
import type { LinuxContainerResourcesInit } from "../../../../lib/clients/cri/cri.ts";
import type { HugepageLimitSchema } from "../../../../lib/gen/runtime/v1/api_pb.js";
import { isCritical } from "../../../../lib/model/critical-pod.ts";
import {
  type ExclusiveCpuOptions,
  exclusiveCpus,
  hasExclusiveCpus,
} from "../../../../lib/model/exclusive-cpus.ts";
import type { Container, Pod } from "../../../../lib/model/pod.ts";
import { podQos } from "../../../../lib/model/qos.ts";
import {
  amountsOf,
  hasPodLevelResources,
  hugepageAmounts,
  milliCpuToQuota,
  milliCpuToShares,
  milliOf,
  podLimits,
  podRequests,
  type ResourceAmounts,
  wholeOf,
} from "../../../../lib/model/resources.ts";
import type { Cpusets, NodeInfo, RuntimeSettings } from "./context.ts";
import { oomScoreAdj } from "./oom-score.ts";

type HugepageLimitInit = MessageInitShape<typeof HugepageLimitSchema>;

export interface ResourceContext {
  readonly node: NodeInfo;
  readonly settings: RuntimeSettings;
  readonly cpusets?: Cpusets;
}

interface Basics {
  cpuPeriod?: bigint;
  cpuQuota?: bigint;
  cpuShares: bigint;
  memoryLimitInBytes?: bigint;
  unified: Record<string, string>;
}

export function buildContainerResources(
  pod: Pod,
  container: Container,
  ctx: ResourceContext,
): LinuxContainerResourcesInit {
  const { node, settings, cpusets } = ctx;
  const podLevel = settings.gates.podLevelResources;
  const requests = amountsOf(container.resources?.requests);
  const own = amountsOf(container.resources?.limits);
  const ofPod = podLevel && hasPodLevelResources(pod) ? amountsOf(pod.spec.resources?.limits) : new Map();
  const limits = new Map(own);
  for (const name of ["cpu", "memory"]) {
    // A container without a limit of its own is bounded by its pod's.
    if ((limits.get(name) ?? 0n) === 0n && ofPod.has(name)) limits.set(name, ofPod.get(name));
  }

  const basics = basicResources(
    requests,
    limits,
    ctx,
    hasQuota(settings, exclusiveCpus(pod, container, exclusiveOptions(settings)) > 0),
  );
  const swap = swapFor(pod, container, basics.memoryLimitInBytes ?? 0n, ctx);
  const memoryQos = settings.gates.memoryQos && node.cgroupVersion === 2;
  return {
    ...basics,
    ...(cpusets?.cpus !== undefined && { cpusetCpus: cpusets.cpus }),
    ...(cpusets?.mems !== undefined && { cpusetMems: cpusets.mems }),
    oomScoreAdj: BigInt(oomScoreAdj(pod, container, node.memoryCapacity, podLevel)),
    hugepageLimits: hugepageLimits(node.hugepageSizes, ofPod, own),
    memorySwapLimitInBytes: swap.memorySwapLimit,
    unified: {
      ...basics.unified,
      ...swap.unified,
      ...(memoryQos ? memoryQosFor(pod, requests, own, ctx) : {}),
    },
  };
}

/** The sum of the containers' resources, for runtimes that size a VM for the sandbox. */
export function buildSandboxResources(pod: Pod, ctx: ResourceContext): LinuxContainerResourcesInit {
  const options = { excludeOverhead: true, podLevel: ctx.settings.gates.podLevelResources };
  const quota = hasQuota(ctx.settings, hasExclusiveCpus(pod, exclusiveOptions(ctx.settings)));
  return basicResources(podRequests(pod, options), podLimits(pod, options), ctx, quota);
}

/** Overhead is added to requests and limits. */
export function buildOverhead(pod: Pod, ctx: ResourceContext): LinuxContainerResourcesInit {
  if (!pod.spec.overhead) return {};
  const overhead = amountsOf(pod.spec.overhead);
  return basicResources(new Map([["cpu", overhead.get("cpu") ?? 0n]]), overhead, ctx, true);
}

function exclusiveOptions({ gates, podLevelManagers }: RuntimeSettings): ExclusiveCpuOptions {
  return { podLevel: gates.podLevelResources, podLevelManagers };
}

function hasQuota(settings: RuntimeSettings, isExclusive: boolean): boolean {
  return !isExclusive || !settings.noQuotaOnExclusiveCpus;
}

function basicResources(
  requests: ResourceAmounts,
  limits: ResourceAmounts,
  ctx: ResourceContext,
  quota: boolean,
): Basics {
  const { node, settings } = ctx;
  const memory = wholeOf(limits, "memory");
  const basics: Basics = {
    // A missing request defaults to the limit; 0 is not missing.
    cpuShares: milliCpuToShares(milliOf(requests.has("cpu") ? requests : limits, "cpu")),
    unified: {},
  };
  if (memory !== 0n) basics.memoryLimitInBytes = memory;
  if (settings.cpuCfsQuota) {
    basics.cpuPeriod = settings.cpuCfsQuotaPeriodUs;
    basics.cpuQuota = quota ? milliCpuToQuota(milliOf(limits, "cpu"), settings.cpuCfsQuotaPeriodUs) : -1n;
  }
  if (node.cgroupVersion === 2 && !settings.singleProcessOomKill) basics.unified["memory.oom.group"] = "1";
  return basics;
}

/** Every page size of the host gets a limit, 0 unless the container (or else its pod) has one. */
function hugepageLimits(
  sizes: readonly string[],
  ofPod: ResourceAmounts,
  own: ResourceAmounts,
): HugepageLimitInit[] {
  const limits = new Map([...hugepageAmounts(ofPod), ...hugepageAmounts(own)]);
  return sizes.map((pageSize) => ({ pageSize, limit: limits.get(pageSize) ?? 0n }));
}

interface Swap {
  memorySwapLimit?: bigint;
  unified?: Record<string, string>;
}

function swapFor(
  pod: Pod,
  container: Container,
  memoryLimit: bigint,
  { node, settings }: ResourceContext,
): Swap {
  if (!node.swapAccounting) return {};
  // On v1 this is the limit of memory and swap together. If it equals the memory limit, the container cannot swap.
  if (node.cgroupVersion === 1) return { memorySwapLimit: memoryLimit };
  const allowed = usesSwap(pod, container, { node, settings }) ? limitedSwap(container, node) : 0n;
  return { unified: { "memory.swap.max": String(allowed) } };
}

/** The container may use swap. */
export function usesSwap(pod: Pod, container: Container, { node, settings }: ResourceContext): boolean {
  return (
    node.swapAccounting &&
    node.cgroupVersion === 2 &&
    settings.swapBehavior === "LimitedSwap" &&
    mayUseSwap(pod, container, settings)
  );
}

function mayUseSwap(pod: Pod, container: Container, settings: RuntimeSettings): boolean {
  const qos = podQos(pod, { podLevel: settings.gates.podLevelResources });
  const request = wholeOf(amountsOf(container.resources?.requests), "memory");
  const limit = wholeOf(amountsOf(container.resources?.limits), "memory");
  return !isCritical(pod) && qos === "Burstable" && request !== limit;
}

/** The share of the node's swap that the container requests of its memory. */
function limitedSwap(container: Container, node: NodeInfo): bigint {
  const request = wholeOf(amountsOf(container.resources?.requests), "memory");
  if (node.memoryCapacity <= 0n || request > node.memoryCapacity) return 0n;
  return BigInt(Math.trunc((Number(request) / Number(node.memoryCapacity)) * Number(node.swapCapacity)));
}

function memoryQosFor(
  pod: Pod,
  requests: ResourceAmounts,
  limits: ResourceAmounts,
  { node, settings }: ResourceContext,
): Record<string, string> {
  const request = wholeOf(requests, "memory");
  const limit = wholeOf(limits, "memory");
  const unified: Record<string, string> = {};
  if (request !== 0n && settings.memoryReservationPolicy === "TieredReservation") {
    const guaranteed = podQos(pod, { podLevel: settings.gates.podLevelResources }) === "Guaranteed";
    unified[guaranteed ? "memory.min" : "memory.low"] = String(request);
  } else {
    unified["memory.min"] = "0";
    unified["memory.low"] = "0";
  }
  if (request !== limit) {
    const high = memoryHigh(
      request,
      limit === 0n ? wholeOf(amountsOf(node.allocatable), "memory") : limit,
      node,
      settings,
    );
    if (high > request) unified["memory.high"] = String(high);
  }
  return unified;
}

/** The memory throttling threshold: a fraction of the range from the request up to the limit, in whole pages. */
function memoryHigh(request: bigint, top: bigint, node: NodeInfo, settings: RuntimeSettings): bigint {
  if (top <= 0n) return 0n;
  const bytes = Math.floor(
    Number(request) + (Number(top) - Number(request)) * settings.memoryThrottlingFactor,
  );
  return (BigInt(bytes) / node.pageSize) * node.pageSize;
}
