import type { PersistentVolume } from "../../../lib/gen/kubernetes/core.d.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { mirrorAnnotation } from "../admission/mirror-pod.ts";
import { claimNames, configMapNames, resourceClaimNames, secretNames } from "../pod-references.ts";

interface SecretRef {
  readonly name?: string;
  readonly namespace?: string;
}

export type RelatedResource =
  | "pods"
  | "secrets"
  | "configmaps"
  | "serviceaccounts"
  | "persistentvolumeclaims"
  | "persistentvolumes"
  | "volumeattachments"
  | "resourceclaims"
  | "resourceslices";

type Vertex = string;
const vertex = (kind: RelatedResource | "nodes", namespace: string, name: string): Vertex =>
  `${kind}/${namespace}/${name}`;

/**
 * Which objects are related to which node: a secret to the pods that reference it, a pod to its node, and so on. Each
 * object owns its edges, which are removed with it.
 */
export class NodeGraph {
  readonly #edges = new Map<Vertex, Map<Vertex, number>>();
  readonly #broughtBy = new Map<Vertex, [Vertex, Vertex][]>();

  setPod(pod: Pod): void {
    const { namespace, name } = pod.metadata;
    const self = vertex("pods", namespace, name);
    const { nodeName, serviceAccountName } = pod.spec;
    if (!nodeName) return this.#replace(self, []);
    const edges: [Vertex, Vertex][] = [[self, vertex("nodes", "", nodeName)]];
    // A node creates mirror pods itself: they must not grant it access to other objects.
    if (pod.metadata.annotations?.[mirrorAnnotation] === undefined) {
      const uses = (kind: RelatedResource, names: Iterable<string>) => {
        for (const used of names) edges.push([vertex(kind, namespace, used), self]);
      };
      if (serviceAccountName) uses("serviceaccounts", [serviceAccountName]);
      uses("secrets", secretNames(pod.spec));
      uses("configmaps", configMapNames(pod.spec));
      uses("persistentvolumeclaims", claimNames(pod));
      uses("resourceclaims", resourceClaimNames(pod));
    }
    this.#replace(self, edges);
  }

  dropPod(namespace: string, name: string): void {
    this.#replace(vertex("pods", namespace, name), []);
  }

  setVolume(volume: PersistentVolume): void {
    const self = vertex("persistentvolumes", "", volume.metadata?.name ?? "");
    const claim = volume.spec?.claimRef;
    if (!claim) return this.#replace(self, []);
    const edges: [Vertex, Vertex][] = [
      [self, vertex("persistentvolumeclaims", claim.namespace ?? "", claim.name ?? "")],
    ];
    for (const secret of volumeSecrets(volume))
      edges.push([vertex("secrets", secret.namespace, secret.name), self]);
    this.#replace(self, edges);
  }

  dropVolume(name: string): void {
    this.#replace(vertex("persistentvolumes", "", name), []);
  }

  /** An object that belongs to one node; "" for none. */
  setOnNode(kind: "volumeattachments" | "resourceslices", name: string, nodeName: string): void {
    const self = vertex(kind, "", name);
    this.#replace(self, nodeName ? [[self, vertex("nodes", "", nodeName)]] : []);
  }

  /** Drops the edges of all objects of this kind. */
  clear(kind: RelatedResource): void {
    for (const owner of [...this.#broughtBy.keys()])
      if (owner.startsWith(`${kind}/`)) this.#replace(owner, []);
  }

  /** True if there is a path from the object to the node. */
  related(node: string, kind: RelatedResource, namespace: string, name: string): boolean {
    const target = vertex("nodes", "", node);
    const visited = new Set<Vertex>();
    const open = [vertex(kind, namespace, name)];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (next === target) return true;
      if (visited.has(next)) continue;
      visited.add(next);
      open.push(...(this.#edges.get(next)?.keys() ?? []));
    }
    return false;
  }

  #replace(owner: Vertex, edges: [Vertex, Vertex][]): void {
    for (const [from, to] of this.#broughtBy.get(owner) ?? []) this.#count(from, to, -1);
    for (const [from, to] of edges) this.#count(from, to, 1);
    if (edges.length > 0) this.#broughtBy.set(owner, edges);
    else this.#broughtBy.delete(owner);
  }

  #count(from: Vertex, to: Vertex, by: number): void {
    const out = this.#edges.get(from) ?? new Map<Vertex, number>();
    const count = (out.get(to) ?? 0) + by;
    if (count > 0) out.set(to, count);
    else out.delete(to);
    if (out.size > 0) this.#edges.set(from, out);
    else this.#edges.delete(from);
  }
}

/** The secrets of a bound volume that a node needs to mount it, not those that only a controller needs. */
function volumeSecrets({ spec }: PersistentVolume): { namespace: string; name: string }[] {
  if (!spec) return [];
  const claimNamespace = spec.claimRef?.namespace ?? "";
  const inClaimNamespace: (SecretRef | undefined)[] = [
    spec.azureFile && { name: spec.azureFile.secretName, namespace: spec.azureFile.secretNamespace },
    spec.cephfs?.secretRef,
    spec.flexVolume?.secretRef,
    spec.rbd?.secretRef,
    spec.scaleIO?.secretRef,
    spec.iscsi?.secretRef,
  ];
  const withNamespace: (SecretRef | undefined)[] = [
    spec.cinder?.secretRef,
    spec.storageos?.secretRef,
    spec.csi?.nodePublishSecretRef,
    spec.csi?.nodeStageSecretRef,
    spec.csi?.nodeExpandSecretRef,
  ];
  return [
    ...inClaimNamespace.map((ref) => ({
      name: ref?.name ?? "",
      namespace: ref?.namespace || claimNamespace,
    })),
    ...withNamespace.map((ref) => ({ name: ref?.name ?? "", namespace: ref?.namespace ?? "" })),
  ].filter(({ name }) => name !== "");
}
