import type { CgroupLimits } from "../../../lib/host/cgroups/limits-reader.ts";
import type { Container, Pod, ResourceRequirements } from "../../../lib/model/pod.ts";
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

/** Below these the kernel rounds up: what was asked for then says more than what was given. */
const leastMilliRequest = 2n;
const leastMilliLimit = 10n;

/** What a container has: as the spec says, and while it runs as the runtime tells. */
export function containerResources(
  container: Container,
  last: ObservedContainer,
  before: ApiContainerStatus | undefined,
  actuated?: ResourceRequirements,
): ResourceRequirements {
  const resources: ResourceRequirements = structuredClone(container.resources ?? {});
  if (last.state !== "running") return resources;
  const { milliCpuLimit, milliCpuRequest, memoryLimit } = last.resources ?? {};
  const told = before?.state?.running ? before.resources : undefined;
  if (resources.limits) {
    const limits = resources.limits as ResourceList;
    settle(limits, "cpu", milliCpu(milliCpuLimit), told?.limits, leastMilliLimit);
    settle(limits, "memory", bytes(memoryLimit), told?.limits);
  }
  if (resources.requests) {
    const requests = resources.requests as ResourceList;
    settle(requests, "cpu", milliCpu(milliCpuRequest), told?.requests, leastMilliRequest);
    // A runtime knows nothing of memory requests: in force is what the container was started with.
    const memory =
      milliOf(amountsOf(actuated?.requests), "memory") > 0n ? actuated?.requests?.memory : undefined;
    settle(requests, "memory", memory, told?.requests);
  }
  return resources;
}

/** Writes the amount in force, else the one last told. */
function settle(
  list: ResourceList,
  name: string,
  actual: string | undefined,
  told: ResourceList | undefined,
  leastMilli?: bigint,
): void {
  if (actual === undefined) {
    if (told?.[name] !== undefined) list[name] = told[name];
    return;
  }
  if (leastMilli !== undefined) {
    const wanted = milliOf(amountsOf(list), name);
    if (wanted <= leastMilli && milliOf(amountsOf({ [name]: actual }), name) <= leastMilli) return;
  }
  list[name] = actual;
}

function milliCpu(amount: number | bigint | undefined): string | undefined {
  return amount ? formatQuantity(BigInt(amount) * 1_000_000n) : undefined;
}

function bytes(amount: number | bigint | undefined): string | undefined {
  return amount ? formatQuantity(BigInt(amount) * 1_000_000_000n, "binary") : undefined;
}

/** The resources of the pod as a whole: what it asks for, and once the API knows that it runs, what its cgroup says. */
export function podResources(
  input: Pick<StatusInput, "pod" | "podCgroup" | "before" | "gates">,
): Pick<ApiPodStatus, "resources" | "allocatedResources"> {
  const { pod, gates } = input;
  if (!gates.podLevelStatus) return {};
  const options = { podLevel: gates.podLevelResources };
  const requests = written(pod, "requests", podRequests(pod, options));
  const resources =
    pod.status?.phase === "Running" && input.podCgroup
      ? inForce(pod, input.podCgroup, requests, input.before)
      : withoutEmpty({
          ...pod.spec.resources,
          requests,
          limits: written(pod, "limits", podLimits(pod, options)),
        });
  return { ...(Object.keys(requests).length > 0 ? { allocatedResources: requests } : {}), resources };
}

function inForce(
  pod: Pod,
  cgroup: CgroupLimits,
  wanted: ResourceList,
  before: ApiPodStatus | undefined,
): ResourceRequirements {
  const told = before?.phase === "Running" ? before.resources : undefined;
  const requests: ResourceList = { ...pod.spec.resources?.requests };
  const limits: ResourceList = { ...pod.spec.resources?.limits };
  const { cpuShares = 0n, cpuQuotaUs = -1n, cpuPeriodUs = 0n, memoryLimit } = cgroup;
  settle(requests, "cpu", milliCpu(sharesToMilliCpu(cpuShares)), told?.requests, leastMilliRequest);
  if (requests.memory === undefined && wanted.memory !== undefined) requests.memory = wanted.memory;
  settle(requests, "memory", undefined, told?.requests);
  const milliLimit = quotaToMilliCpu(cpuQuotaUs, cpuPeriodUs);
  settle(limits, "cpu", milliCpu(milliLimit), told?.limits, leastMilliLimit);
  settle(limits, "memory", bytes(memoryLimit), told?.limits);
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

/** Amounts as text, in the form in which the spec writes that resource first. */
function written(pod: Pod, kind: "requests" | "limits", amounts: ResourceAmounts): ResourceList {
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
