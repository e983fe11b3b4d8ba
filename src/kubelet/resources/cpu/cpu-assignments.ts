import { type CpuSet, noCpus } from "../../../lib/model/cpu-set.ts";
import type { PodUid } from "../../../lib/model/pod.ts";

/** Which CPUs are exclusive to a container, and which are shared by all others. */
export interface CpuAssignments {
  readonly shared: CpuSet;
  readonly pods: ReadonlyMap<PodUid, ReadonlyMap<string, CpuSet>>;
}

export const noAssignments: CpuAssignments = { shared: noCpus, pods: new Map() };

export function assignedTo(a: CpuAssignments, uid: PodUid, container: string): CpuSet | undefined {
  return a.pods.get(uid)?.get(container);
}

/** All exclusive CPUs. */
export function exclusiveOf({ pods }: CpuAssignments): CpuSet {
  return new Set([...pods.keys()].flatMap((uid) => [...podCpus(pods, uid)]));
}

/** The container gets the CPUs; they leave the shared pool. */
export function withAssigned(
  { shared, pods }: CpuAssignments,
  uid: PodUid,
  container: string,
  cpus: CpuSet,
): CpuAssignments {
  const ofPod = new Map(pods.get(uid)).set(container, cpus);
  return { shared: shared.difference(cpus), pods: new Map(pods).set(uid, ofPod) };
}

/** All CPUs of the pod return to the shared pool. */
export function withoutPod({ shared, pods }: CpuAssignments, uid: PodUid): CpuAssignments {
  const rest = new Map(pods);
  rest.delete(uid);
  return { shared: shared.union(podCpus(pods, uid)), pods: rest };
}

function podCpus(pods: CpuAssignments["pods"], uid: PodUid): CpuSet {
  return new Set([...(pods.get(uid)?.values() ?? [])].flatMap((cpus) => [...cpus]));
}
