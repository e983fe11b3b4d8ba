import { isExtendedResourceName } from "../../../lib/model/extended-resource.ts";
import type { Container, Pod } from "../../../lib/model/pod.ts";
import { amountsOf, podLimits, wholeOf } from "../../../lib/model/resources.ts";

export interface DeviceRequest {
  readonly resource: string;
  readonly count: number;
}

interface ClaimStatus {
  readonly extendedResourceClaimStatus?: {
    readonly requestMappings?: readonly { readonly containerName: string; readonly resourceName: string }[];
  };
}

/**
 * The extended resources of a container, except those that DRA allocates, if it does (DRAExtendedResource). Their requests equal their
 * limits.
 */
export function containerRequests(pod: Pod, container: Container, byDra = true): DeviceRequest[] {
  const status = byDra ? (pod.status as ClaimStatus | undefined) : undefined;
  const mappings = status?.extendedResourceClaimStatus?.requestMappings;
  const isClaimed = (resource: string) =>
    mappings?.some((m) => m.containerName === container.name && m.resourceName === resource) ?? false;
  return requestsIn(amountsOf(container.resources?.limits)).filter(({ resource }) => !isClaimed(resource));
}

/** The same for the pod: the maximum over its lifecycle. */
export function podDeviceRequests(pod: Pod): DeviceRequest[] {
  return requestsIn(podLimits(pod, { excludeOverhead: true }));
}

/** The names of all extended resources in the pod. */
export function resourcesOf(pod: Pod, byDra = true): string[] {
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const requests = containers.flatMap((container) => containerRequests(pod, container, byDra));
  return [...new Set(requests.map(({ resource }) => resource))];
}

function requestsIn(amounts: ReadonlyMap<string, bigint>): DeviceRequest[] {
  return [...amounts.keys()]
    .filter(isExtendedResourceName)
    .sort((a, b) => (a < b ? -1 : 1))
    .map((resource) => ({ resource, count: Number(wholeOf(amounts, resource)) }))
    .filter(({ count }) => count > 0);
}
