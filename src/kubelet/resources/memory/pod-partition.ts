import { KubeletError } from "../../../lib/base/errors.ts";
import type { Container, Pod } from "../../../lib/model/pod.ts";
import { isSidecar } from "../../../lib/model/resources.ts";
import type { MemoryBlock } from "./machine-memory.ts";
import { containerRequests, type MemoryRequests } from "./memory-requests.ts";

/** Throws if memory that containers have for themselves leaves none of the pod's for a container that shares it. */
export function checkSharedPool(pod: Pod, total: MemoryRequests): void {
  const { initContainers = [], containers } = pod.spec;
  const own = new Map<string, bigint>();
  const used = () => [...total].find(([resource, bytes]) => (own.get(resource) ?? 0n) >= bytes)?.[0];
  const isShared = (container: Container) => containerRequests(pod, container).size === 0;
  const add = (container: Container) => {
    for (const [resource, bytes] of containerRequests(pod, container))
      own.set(resource, (own.get(resource) ?? 0n) + bytes);
  };
  for (const container of initContainers) {
    if (isSidecar(container)) add(container);
    else if (isShared(container)) {
      const resource = used();
      if (resource) throw emptyPool(`pod has shared init containers but no ${resource} available for them`);
    }
  }
  for (const container of containers) add(container);
  const resource = used();
  if (resource && [...initContainers.filter(isSidecar), ...containers].some(isShared))
    throw emptyPool(
      `sum of exclusive container ${resource} requests equals pod budget, leaving no memory for shared containers`,
    );
}

/**
 * The memory of each container of a pod that has this much in total on these NUMA nodes. Init containers that share have all that sidecars before
 * them have not; containers and sidecars that share have what the others leave.
 */
export function partitionPod(
  pod: Pod,
  total: MemoryRequests,
  nodes: readonly number[],
): Map<string, readonly MemoryBlock[]> {
  const { initContainers = [], containers } = pod.spec;
  const parts = new Map<string, readonly MemoryBlock[]>();
  const blocksOf = (amounts: MemoryRequests) =>
    [...amounts].flatMap(([resource, bytes]) => (bytes > 0n ? [{ nodes, resource, bytes }] : []));
  let pool = total;
  for (const container of [...initContainers, ...containers]) {
    const requests = containerRequests(pod, container);
    const completes = initContainers.includes(container) && !isSidecar(container);
    if (requests.size > 0) parts.set(container.name, blocksOf(requests));
    else if (completes) parts.set(container.name, blocksOf(pool));
    if (!completes) pool = less(pool, requests);
  }
  for (const { name } of [...initContainers, ...containers])
    if (!parts.has(name)) parts.set(name, blocksOf(pool));
  return parts;
}

function less(pool: MemoryRequests, used: MemoryRequests): MemoryRequests {
  return new Map([...pool].map(([resource, bytes]) => [resource, bytes - (used.get(resource) ?? 0n)]));
}

function emptyPool(problem: string): KubeletError {
  return new KubeletError("EmptyPodSharedPoolError", `pod rejected, ${problem}`);
}
