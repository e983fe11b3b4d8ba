import type { PodLevelManagers } from "../../../lib/model/exclusive-cpus.ts";
import type { Container, Pod } from "../../../lib/model/pod.ts";
import { isGuaranteedContainer, podQos } from "../../../lib/model/qos.ts";
import { amountsOf, hasPodLevelResources, isSidecar, wholeOf } from "../../../lib/model/resources.ts";

/** Bytes by resource: "memory", "hugepages-2Mi". */
export type MemoryRequests = ReadonlyMap<string, bigint>;

/** True for a Guaranteed pod. If it has pod-level resources, these have to be managed, too. */
export function hasOwnMemory(pod: Pod, podLevelManagers: PodLevelManagers): boolean {
  return (podLevelManagers !== "off" || !hasPodLevelResources(pod)) && podQos(pod) === "Guaranteed";
}

/** Sorted by resource; none of a container that shares the resources of its pod. */
export function containerRequests(pod: Pod, container: Container): MemoryRequests {
  if (hasPodLevelResources(pod) && !isGuaranteedContainer(container)) return new Map();
  return memoryOf(container.resources);
}

/** The requests of the pod itself that are greater than 0. */
export function podLevelRequests({ spec }: Pod): MemoryRequests {
  return new Map([...memoryOf(spec.resources)].filter(([, bytes]) => bytes > 0n));
}

function memoryOf(resources: Container["resources"]): MemoryRequests {
  const amounts = amountsOf(resources?.requests);
  const names = [...amounts.keys()].filter((name) => name === "memory" || name.startsWith("hugepages-"));
  return new Map(names.sort((a, b) => (a < b ? -1 : 1)).map((name) => [name, wholeOf(amounts, name)]));
}

/**
 * The most that the pod needs at any time: what its containers and sidecars need together, or an init container with the sidecars before it.
 * Only resources that a container requests count.
 */
export function podRequests(pod: Pod): MemoryRequests {
  const { spec } = pod;
  const sidecars = new Map<string, bigint>();
  const highest = new Map<string, bigint>();
  for (const container of spec.initContainers ?? [])
    for (const [resource, bytes] of containerRequests(pod, container)) {
      const before = sidecars.get(resource) ?? 0n;
      if (isSidecar(container)) sidecars.set(resource, before + bytes);
      else highest.set(resource, larger(highest.get(resource) ?? 0n, before + bytes));
    }
  const total = new Map<string, bigint>();
  for (const container of spec.containers)
    for (const [resource, bytes] of containerRequests(pod, container))
      total.set(resource, (total.get(resource) ?? 0n) + bytes);
  return new Map(
    [...total].map(([resource, bytes]) => [
      resource,
      larger(bytes + (sidecars.get(resource) ?? 0n), highest.get(resource) ?? 0n),
    ]),
  );
}

export function isInitContainer({ spec }: Pod, name: string): boolean {
  const found = spec.initContainers?.find((container) => container.name === name);
  return found !== undefined && !isSidecar(found);
}

function larger(a: bigint, b: bigint): bigint {
  if (a > b) return a;
  return b;
}
