import type { Container, Pod } from "../../../lib/model/pod.ts";
import { podQos } from "../../../lib/model/qos.ts";
import { amountsOf, hasPodLevelResources, isSidecar, wholeOf } from "../../../lib/model/resources.ts";

/** Bytes by resource: "memory", "hugepages-2Mi". */
export type MemoryRequests = ReadonlyMap<string, bigint>;

/** Only Guaranteed pods have memory of their own, and not those with pod-level resources. */
export function hasOwnMemory(pod: Pod): boolean {
  return !hasPodLevelResources(pod) && podQos(pod) === "Guaranteed";
}

/** Sorted by resource. */
export function containerRequests({ resources }: Container): MemoryRequests {
  const amounts = amountsOf(resources?.requests);
  const names = [...amounts.keys()].filter((name) => name === "memory" || name.startsWith("hugepages-"));
  return new Map(names.sort((a, b) => (a < b ? -1 : 1)).map((name) => [name, wholeOf(amounts, name)]));
}

/**
 * The most that the pod needs at any time: that of containers and sidecars together, or that of an init container with the sidecars before
 * it. Only resources that a container requests count.
 */
export function podRequests({ spec }: Pod): MemoryRequests {
  const sidecars = new Map<string, bigint>();
  const highest = new Map<string, bigint>();
  for (const container of spec.initContainers ?? [])
    for (const [resource, bytes] of containerRequests(container)) {
      const before = sidecars.get(resource) ?? 0n;
      if (isSidecar(container)) sidecars.set(resource, before + bytes);
      else highest.set(resource, larger(highest.get(resource) ?? 0n, before + bytes));
    }
  const total = new Map<string, bigint>();
  for (const container of spec.containers)
    for (const [resource, bytes] of containerRequests(container))
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
