import type { CgroupResources } from "../../../lib/host/cgroups/cgroup-filesystem.ts";
import type { CgroupLimits } from "../../../lib/host/cgroups/limits-reader.ts";

export interface PodCgroupSteps {
  /** Written before the containers are resized: their new limits must fit in. */
  readonly before: CgroupResources | undefined;
  /** Written after that: until then their old limits must fit in. */
  readonly after: CgroupResources | undefined;
}

/**
 * How the cgroup of a pod gets its new limits: limits that grow are set before its containers are resized, limits that shrink after that.
 * The kernel (cgroup v1)
 * rejects a container's CPU quota that exceeds the quota of its pod, and a pod's quota below the quota of a container. A limit that the pod
 * no longer has is kept, as upstream.
 */
export function podCgroupSteps(current: CgroupLimits, desired: CgroupResources): PodCgroupSteps {
  const before: Writable<CgroupResources> = {};
  const after: Writable<CgroupResources> = {};
  const part = (grows: boolean) => (grows ? before : after);
  const { cpuShares, cpuQuota, cpuPeriod, memory, unified } = desired;
  if (cpuQuota !== undefined && cpuQuota !== (current.cpuQuotaUs ?? -1n)) {
    const to = part(isMore(cpuQuota, current.cpuQuotaUs));
    to.cpuQuota = cpuQuota;
    if (cpuPeriod !== undefined) to.cpuPeriod = cpuPeriod;
  }
  if (memory !== undefined && memory !== current.memoryLimit)
    part(isMore(memory, current.memoryLimit)).memory = memory;
  if (cpuShares !== undefined && cpuShares !== current.cpuShares)
    part(cpuShares > (current.cpuShares ?? 0n)).cpuShares = cpuShares;
  if (unified) after.unified = unified;
  return { before: orNone(before), after: orNone(after) };
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Absent and negative: no limit. */
function isMore(limit: bigint, current: bigint | undefined): boolean {
  if (current === undefined || current < 0n) return false;
  return limit < 0n || limit > current;
}

function orNone(resources: CgroupResources): CgroupResources | undefined {
  return Object.keys(resources).length > 0 ? resources : undefined;
}
