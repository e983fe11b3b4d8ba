import { annotationHash, annotationMirror, fullNameOf, type Pod } from "../../../lib/model/pod.ts";

export type MirrorStep =
  | { kind: "create"; pod: Pod }
  /** The mirror is of an older version or a previous run of the pod, or is being deleted: delete it and create a new one. */
  | { kind: "replace"; mirror: Pod; pod: Pod }
  | { kind: "delete"; mirror: Pod };

/** The steps after which each static pod has its mirror in the API and no mirror is without its pod. */
export function planMirrors(
  pods: readonly Pod[],
  mirrors: readonly Pod[],
  /** UIDs of mirrors whose pod has terminated, and may have been started again. */
  terminated: ReadonlySet<string> = new Set(),
): MirrorStep[] {
  const rest = new Map(mirrors.map((mirror) => [fullNameOf(mirror), mirror]));
  const steps: MirrorStep[] = [];
  for (const pod of pods) {
    const name = fullNameOf(pod);
    const mirror = rest.get(name);
    rest.delete(name);
    if (!mirror) steps.push({ kind: "create", pod });
    else if (
      mirror.metadata.deletionTimestamp !== undefined ||
      terminated.has(mirror.metadata.uid) ||
      !isMirrorOf(mirror, pod)
    )
      steps.push({ kind: "replace", mirror, pod });
  }
  for (const mirror of rest.values()) steps.push({ kind: "delete", mirror });
  return steps;
}

/** True if the mirror is of this version of the pod. */
export function isMirrorOf(mirror: Pod, pod: Pod): boolean {
  const hash = mirror.metadata.annotations?.[annotationMirror];
  return hash !== undefined && hash === hashOf(pod);
}

export interface OwnerNode {
  name: string;
  uid: string;
}

/** The mirror to create. The API server assigns its UID; NodeRestriction requires the node as its owner. */
export function mirrorOf(pod: Pod, node: OwnerNode): object {
  const { uid: _uid, annotations, ...metadata } = pod.metadata;
  const owner = { apiVersion: "v1", kind: "Node", name: node.name, uid: node.uid, controller: true };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...metadata,
      annotations: { ...annotations, [annotationMirror]: hashOf(pod) },
      ownerReferences: [owner],
    },
    spec: pod.spec,
  };
}

/** Each static pod has this annotation. */
function hashOf(pod: Pod): string {
  return pod.metadata.annotations?.[annotationHash] ?? "";
}
