import { type CpuSet, noCpus } from "../../../lib/model/cpu-set.ts";
import type { PodUid } from "../../../lib/model/pod.ts";

/** Which CPUs are exclusive to a container or a pod, and which are shared by all others. */
export interface CpuAssignments {
  readonly shared: CpuSet;
  readonly pods: ReadonlyMap<PodUid, ReadonlyMap<string, CpuSet>>;
  /** The CPUs of pods with pod-level resources. The containers of these pods have parts of the CPUs of their pod. Undefined without PodLevelResourceManagers. */
  readonly podSets?: ReadonlyMap<PodUid, CpuSet>;
}

export const noAssignments: CpuAssignments = { shared: noCpus, pods: new Map() };

export function assignedTo(a: CpuAssignments, uid: PodUid, container: string): CpuSet | undefined {
  return a.pods.get(uid)?.get(container);
}

/** All exclusive CPUs. */
export function exclusiveOf(assignments: CpuAssignments): CpuSet {
  const { pods, podSets } = assignments;
  const uids = new Set([...pods.keys(), ...(podSets?.keys() ?? [])]);
  return new Set([...uids].flatMap((uid) => [...podCpus(assignments, uid)]));
}

/** The container gets the CPUs; they leave the shared pool. */
export function withAssigned(
  assignments: CpuAssignments,
  uid: PodUid,
  container: string,
  cpus: CpuSet,
): CpuAssignments {
  const { shared, pods } = assignments;
  const ofPod = new Map(pods.get(uid)).set(container, cpus);
  return { ...assignments, shared: shared.difference(cpus), pods: new Map(pods).set(uid, ofPod) };
}

/** The pod gets the CPUs, and its containers these parts of them. */
export function withPodAssigned(
  { shared, pods, podSets }: CpuAssignments,
  uid: PodUid,
  cpus: CpuSet,
  containers: ReadonlyMap<string, CpuSet>,
): CpuAssignments {
  return {
    shared: shared.difference(cpus),
    pods: new Map(pods).set(uid, containers),
    podSets: new Map(podSets).set(uid, cpus),
  };
}

/** All CPUs of the pod return to the shared pool. */
export function withoutPod(assignments: CpuAssignments, uid: PodUid): CpuAssignments {
  const pods = new Map(assignments.pods);
  pods.delete(uid);
  const podSets = assignments.podSets && new Map(assignments.podSets);
  podSets?.delete(uid);
  const shared = assignments.shared.union(podCpus(assignments, uid));
  return { shared, pods, ...(podSets && { podSets }) };
}

function podCpus({ pods, podSets }: CpuAssignments, uid: PodUid): CpuSet {
  const ofContainers = [...(pods.get(uid)?.values() ?? [])].flatMap((cpus) => [...cpus]);
  return new Set([...ofContainers, ...(podSets?.get(uid) ?? noCpus)]);
}
