import type { CgroupLimits } from "../../../lib/host/cgroups/limits-reader.ts";
import { type Container, isStatic, type Pod, type ResourceRequirements } from "../../../lib/model/pod.ts";
import type { PodPhase } from "../../../lib/model/pod-phase.ts";
import { formatQuantity } from "../../../lib/model/quantity-form.ts";
import {
  amountsOf,
  milliOf,
  podLimits,
  podRequests,
  quotaToMilliCpu,
  type ResourceAmounts,
  sharesToMilliCpu,
} from "../../../lib/model/resources.ts";
import type { ObservedContainer } from "../../state/observed-pods.ts";
import type { ApiContainerStatus, ApiPodStatus } from "./api-types.ts";
import type { StatusInput } from "./status-input.ts";

type ResourceList = Record<string, string>;

/** The kernel rounds smaller amounts up. For these, the requested amount is reported instead of the actual one. */
const minMilliRequest = 2n;
const minMilliLimit = 10n;

/** The resources of a container: while it runs, the runtime's values, otherwise the spec's. */
export function containerResources(
  container: Container,
  last: ObservedContainer,
  previous: ApiContainerStatus | undefined,
  actuated?: ResourceRequirements,
): ResourceRequirements {
  const resources: ResourceRequirements = structuredClone(container.resources ?? {});
  if (last.state !== "running") return resources;
  const { milliCpuLimit, milliCpuRequest, memoryLimit } = last.resources ?? {};
  const reported = previous?.state?.running ? previous.resources : undefined;
  if (resources.limits) {
    const limits = resources.limits as ResourceList;
    setActual(limits, "cpu", milliCpu(milliCpuLimit), reported?.limits, minMilliLimit);
    setActual(limits, "memory", bytes(memoryLimit), reported?.limits);
  }
  if (resources.requests) {
    const requests = resources.requests as ResourceList;
    setActual(requests, "cpu", milliCpu(milliCpuRequest), reported?.requests, minMilliRequest);
    // The runtime has no memory requests: the actual one is that at the start of the container.
    const memory =
      milliOf(amountsOf(actuated?.requests), "memory") > 0n ? actuated?.requests?.memory : undefined;
    setActual(requests, "memory", memory, reported?.requests);
  }
  return resources;
}

/** Sets the actual amount, otherwise the one last reported. */
function setActual(
  list: ResourceList,
  name: string,
  actual: string | undefined,
  reported: ResourceList | undefined,
  minMilli?: bigint,
): void {
  if (actual === undefined) {
    if (reported?.[name] !== undefined) list[name] = reported[name];
    return;
  }
  if (minMilli !== undefined) {
    const requested = milliOf(amountsOf(list), name);
    if (requested <= minMilli && milliOf(amountsOf({ [name]: actual }), name) <= minMilli) return;
  }
  list[name] = actual;
}

function milliCpu(amount: number | bigint | undefined): string | undefined {
  return amount ? formatQuantity(BigInt(amount) * 1_000_000n) : undefined;
}

function bytes(amount: number | bigint | undefined): string | undefined {
  return amount ? formatQuantity(BigInt(amount) * 1_000_000_000n, "binary") : undefined;
}

/**
 * The pod-level resources: the spec's; while the pod is Running, the values of its cgroup; and after that, the last ones. The reference
 * kubelet reports values of the cgroup a little later, with a request of its own, and never for static pods. For a pod that had ended
 * when the agent started, both report the spec's: no cgroup is left.
 */
export function podResources(
  input: Pick<StatusInput, "pod" | "podCgroup" | "previous" | "endedBefore" | "gates" | "resizes">,
  phase: PodPhase,
): Pick<ApiPodStatus, "resources" | "allocatedResources"> {
  const { pod, gates } = input;
  if (!gates.podLevelStatus) return {};
  const options = { podLevel: gates.podLevelResources };
  const requests = formatAmounts(pod, "requests", podRequests(pod, options));
  const limits = formatAmounts(pod, "limits", podLimits(pod, options));
  const allocated = withoutEmpty({ ...pod.spec.resources, requests, limits });
  return {
    ...(Object.keys(requests).length > 0 ? { allocatedResources: requests } : {}),
    resources: isStatic(pod) || input.endedBefore ? allocated : currentResources(input, phase, allocated),
  };
}

function currentResources(
  input: Pick<StatusInput, "pod" | "podCgroup" | "previous" | "resizes">,
  phase: PodPhase,
  allocated: ResourceRequirements,
): ResourceRequirements {
  const { podCgroup, previous } = input;
  const hasRun = previous?.phase !== undefined && previous.phase !== "Pending";
  const last = hasRun ? previous.resources : undefined;
  if (phase !== "Running") return last ?? allocated;
  const cgroup = podCgroup?.();
  return cgroup ? actualResources(input, cgroup, allocated, last ?? allocated) : allocated;
}

/** Amounts that the cgroup does not have are the last ones: for example the limit of one container if another one has none. */
function actualResources(
  { pod, resizes }: Pick<StatusInput, "pod" | "resizes">,
  cgroup: CgroupLimits,
  allocated: ResourceRequirements,
  last: ResourceRequirements,
): ResourceRequirements {
  const requests: ResourceList = { ...pod.spec.resources?.requests };
  const limits: ResourceList = { ...pod.spec.resources?.limits };
  const { cpuShares = 0n, cpuQuotaUs = -1n, cpuPeriodUs = 0n, memoryLimit } = cgroup;
  setActual(requests, "cpu", milliCpu(sharesToMilliCpu(cpuShares)), last.requests, minMilliRequest);
  const memoryRequest = allocated.requests?.memory;
  if (requests.memory === undefined && memoryRequest !== undefined) requests.memory = memoryRequest;
  // No cgroup has the memory request: while containers are resized, it is the previous one.
  if (resizes?.some(({ type }) => type === "PodResizeInProgress"))
    setActual(requests, "memory", undefined, last.requests);
  const milliLimit = quotaToMilliCpu(cpuQuotaUs, cpuPeriodUs);
  setActual(limits, "cpu", milliCpu(milliLimit), last.limits, minMilliLimit);
  setActual(limits, "memory", bytes(memoryLimit), last.limits);
  return withoutEmpty({ ...pod.spec.resources, requests, limits });
}

function withoutEmpty(resources: ResourceRequirements): ResourceRequirements {
  const { requests, limits, ...rest } = resources;
  return {
    ...rest,
    ...(limits && Object.keys(limits).length > 0 ? { limits } : {}),
    ...(requests && Object.keys(requests).length > 0 ? { requests } : {}),
  };
}

/** Amounts as text, in the format of the first occurrence in the spec. */
function formatAmounts(pod: Pod, kind: "requests" | "limits", amounts: ResourceAmounts): ResourceList {
  const { resources, containers, initContainers = [], overhead } = pod.spec;
  const lists = [
    resources?.[kind],
    ...[...containers, ...initContainers].map((c) => c.resources?.[kind]),
    overhead,
  ];
  return Object.fromEntries(
    [...amounts].map(([name, amount]) => {
      const isBinary = lists.find((list) => list?.[name] !== undefined)?.[name]?.endsWith("i");
      return [name, formatQuantity(amount, isBinary ? "binary" : "decimal")];
    }),
  );
}
