import { isExtendedResourceName } from "../../../lib/model/extended-resource.ts";
import type { Container, Pod } from "../../../lib/model/pod.ts";
import {
  amountsOf,
  milliOf,
  podRequests,
  type ResourceAmounts,
  wholeOf,
} from "../../../lib/model/resources.ts";

/** A resource that the node has less of than the pods request. CPU in millicores, all others in whole units. */
export interface Insufficient {
  readonly resource: string;
  readonly requested: bigint;
  readonly used: bigint;
  readonly capacity: bigint;
}

export interface FitContext {
  /**
   * {"cpu": "4", "memory": "8Gi", "pods": "110"}. The node has nothing of a resource that is not named. Extended resources are an exception:
   * the cluster may have them, and nodes do not know these.
   */
  readonly allocatable: Readonly<Record<string, string>>;
  /** The other admitted pods. */
  readonly others: readonly Pod[];
  /** False if pod-level resources are ignored. */
  readonly podLevelResources: boolean;
  /** False if the gate DRAExtendedResource is off: no extended resource is allocated by DRA. */
  readonly extendedResourcesByDra?: boolean | undefined;
}

const fixedOrder = ["cpu", "memory", "ephemeral-storage"];

/** The resources that are missing for this pod to run alongside the others: the number of pods first. */
export function insufficientResources(
  pod: Pod,
  { allocatable, others, podLevelResources, extendedResourcesByDra = true }: FitContext,
): Insufficient[] {
  const missing: Insufficient[] = [];
  const capacities = amountsOf(allocatable);
  const maxPods = wholeOf(capacities, "pods");
  if (capacities.has("pods") && BigInt(others.length) + 1n > maxPods)
    missing.push({ resource: "pods", requested: 1n, used: BigInt(others.length), capacity: maxPods });

  const options = { podLevel: podLevelResources };
  const podRequest = podRequests(extendedResourcesByDra ? withoutClaimed(pod) : pod, options);
  const otherRequests = others.map((other) => podRequests(other, options));
  const rest = [...podRequest.keys()]
    .filter((name) => !fixedOrder.includes(name))
    .sort((a, b) => (a < b ? -1 : 1));
  for (const resource of [...fixedOrder, ...rest]) {
    const read = resource === "cpu" ? milliOf : wholeOf;
    const requested = read(podRequest, resource);
    if (requested <= 0n || (isExtendedResourceName(resource) && !capacities.has(resource))) continue;
    const used = otherRequests.reduce((sum, amounts: ResourceAmounts) => sum + read(amounts, resource), 0n);
    const capacity = read(capacities, resource);
    if (requested > capacity - used) missing.push({ resource, requested, used, capacity });
  }
  return missing;
}

/** Without the extended resources that DRA has allocated to containers: their devices are counted nowhere else. */
function withoutClaimed(pod: Pod): Pod {
  const mappings = pod.status?.extendedResourceClaimStatus?.requestMappings ?? [];
  if (mappings.length === 0) return pod;
  const strip = (container: Container): Container => {
    const claimed = mappings.filter((m) => m.containerName === container.name).map((m) => m.resourceName);
    const requests = Object.entries(container.resources?.requests ?? {});
    const rest = Object.fromEntries(requests.filter(([name]) => !claimed.includes(name)));
    return { ...container, resources: { ...container.resources, requests: rest } };
  };
  const { containers, initContainers } = pod.spec;
  const stripped = {
    containers: containers.map(strip),
    ...(initContainers && { initContainers: initContainers.map(strip) }),
  };
  return { ...pod, spec: { ...pod.spec, ...stripped } };
}

export function insufficientMessage({ resource, requested, used, capacity }: Insufficient): string {
  return (
    `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, ` +
    `capacity: ${capacity}`
  );
}
