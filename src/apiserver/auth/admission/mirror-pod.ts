import type { Pod, Volume } from "../../../lib/model/pod.ts";
import { configMapNames, secretNames } from "../pod-references.ts";

/** Marks the mirror pod of a static pod. */
export const mirrorAnnotation = "kubernetes.io/config.mirror";

export type ApiReference =
  | { readonly kind: "none" }
  | { readonly kind: "found"; readonly resource: string }
  | { readonly kind: "unknown"; readonly problem: string };

const referencingVolumes: readonly (readonly [keyof Volume, string])[] = [
  ["configMap", "configmaps (via configmap volumes)"],
  ["secret", "secrets (via secret volumes)"],
  ["csi", "csidrivers (via CSI volumes)"],
  ["glusterfs", "endpoints (via glusterFS volumes)"],
  ["persistentVolumeClaim", "persistentvolumeclaims"],
  ["ephemeral", "persistentvolumeclaims (via ephemeral volumes)"],
  ["azureFile", "secrets (via azureFile volumes)"],
];
const volumesWithoutReferences: readonly string[] = [
  ...["awsElasticBlockStore", "azureDisk", "cephfs", "cinder", "downwardAPI", "emptyDir", "fc", "flexVolume"],
  ...["flocker", "gcePersistentDisk", "gitRepo", "hostPath", "image", "iscsi", "nfs", "photonPersistentDisk"],
  ...["portworxVolume", "quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume"],
];
const referencingProjections: Readonly<Record<string, string>> = {
  configMap: "configmaps (via projected volumes)",
  secret: "secrets (via projected volumes)",
  serviceAccountToken: "serviceaccounts (via projected volumes)",
  clusterTrustBundle: "clustertrustbundles",
  podCertificate: "podcertificates",
};

const none: ApiReference = { kind: "none" };

/** The first API object that a pod references. Unknown volume types are treated as a reference. */
export function apiReference({ spec }: Pick<Pod, "spec">): ApiReference {
  if (spec.serviceAccountName) return { kind: "found", resource: "serviceaccounts" };
  if (secretNames(spec).size > 0) return { kind: "found", resource: "secrets" };
  if (configMapNames(spec).size > 0) return { kind: "found", resource: "configmaps" };
  if (spec.resourceClaims?.length) return { kind: "found", resource: "resourceclaims" };
  for (const volume of spec.volumes ?? []) {
    const reference = volumeReference(volume);
    if (reference.kind !== "none") return reference;
  }
  return none;
}

function volumeReference(volume: Volume): ApiReference {
  const has = (kind: string) => Object.hasOwn(volume, kind);
  if (volumesWithoutReferences.some(has)) return none;
  const found = referencingVolumes.find(([kind]) => has(kind));
  if (found) return { kind: "found", resource: found[1] };
  if (!volume.projected)
    return { kind: "unknown", problem: `unknown volume type for volume  "${volume.name}"` };
  for (const source of volume.projected.sources ?? []) {
    const kinds = Object.keys(source);
    const kind = kinds.find((key) => referencingProjections[key]);
    if (kind) return { kind: "found", resource: referencingProjections[kind]! };
    if (!kinds.includes("downwardAPI"))
      return { kind: "unknown", problem: `unknown source for projected volume "${volume.name}"` };
  }
  return none;
}
