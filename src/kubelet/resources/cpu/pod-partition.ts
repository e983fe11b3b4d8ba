import { KubeletError } from "../../../lib/base/errors.ts";
import { type CpuSet, noCpus } from "../../../lib/model/cpu-set.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { isSidecar } from "../../../lib/model/resources.ts";

/** The number of exclusive CPUs that a container requests; 0 if it shares the CPUs of the pod. */
type Requested = (container: Pod["spec"]["containers"][number]) => number;

/** Throws if exclusive CPUs of containers leave none of the pod's for a container without. */
export function checkSharedPool(pod: Pod, count: number, requested: Requested): void {
  const { initContainers = [], containers } = pod.spec;
  let exclusive = 0;
  for (const container of initContainers) {
    if (isSidecar(container)) exclusive += requested(container);
    else if (requested(container) === 0 && exclusive >= count)
      throw emptyPool("pod has shared init containers but no cpus available for them");
  }
  const running = [...initContainers.filter(isSidecar), ...containers];
  exclusive += containers.reduce((sum, container) => sum + requested(container), 0);
  if (exclusive >= count && running.some((container) => requested(container) === 0))
    throw emptyPool(
      "sum of exclusive container cpu requests equals pod budget, leaving no cpus for shared containers",
    );
}

/**
 * The part of the pod's CPUs that each container gets. Init containers complete before the next container starts, so they can have all
 * that sidecars before them have not taken; what containers and sidecars leave is shared by those without exclusive CPUs.
 */
export function partitionPod(
  pod: Pod,
  cpus: CpuSet,
  requested: Requested,
  take: (available: CpuSet, count: number) => CpuSet,
): Map<string, CpuSet> {
  const { initContainers = [], containers } = pod.spec;
  const parts = new Map<string, CpuSet>();
  let ofSidecars = noCpus;
  for (const container of initContainers) {
    const count = requested(container);
    const available = cpus.difference(ofSidecars);
    if (count > 0) parts.set(container.name, take(available, count));
    else if (!isSidecar(container)) parts.set(container.name, available);
    if (isSidecar(container)) ofSidecars = ofSidecars.union(parts.get(container.name) ?? noCpus);
  }
  let pool = cpus.difference(ofSidecars);
  for (const container of containers) {
    const count = requested(container);
    if (count === 0) continue;
    const part = take(pool, count);
    parts.set(container.name, part);
    pool = pool.difference(part);
  }
  for (const { name } of [...initContainers, ...containers]) if (!parts.has(name)) parts.set(name, pool);
  return parts;
}

function emptyPool(problem: string): KubeletError {
  return new KubeletError("EmptyPodSharedPoolError", `pod rejected, ${problem}`);
}
