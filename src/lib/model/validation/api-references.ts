import type { Container, Pod, PodSpec, Volume } from "../pod.ts";
import type { Problem } from "./problem.ts";

/** `local`: an object that --local-objects can provide instead. */
type Found = { path: string; resource: string; local?: true };

/** Volumes that need an API object. */
const volumeResources: [keyof Volume, string][] = [
  ["configMap", "configmaps"],
  ["secret", "secrets"],
  ["csi", "csidrivers (via CSI volumes)"],
  ["glusterfs", "endpoints (via glusterFS volumes)"],
  ["persistentVolumeClaim", "persistentvolumeclaims"],
  ["ephemeral", "persistentvolumeclaims (via ephemeral volumes)"],
  ["azureFile", "secrets"],
];
const projectedResources: Record<string, string> = {
  configMap: "configmaps",
  secret: "secrets",
  serviceAccountToken: "serviceaccounts (via projected volumes)",
  clusterTrustBundle: "clustertrustbundles",
  podCertificate: "podcertificates",
};
const secretRefVolumes = ["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"] as const;

/** A static pod must run without an API server: it may not refer to API objects. */
export function checkNoApiReferences(pod: Pod, hasLocalObjects = false): Problem[] {
  return [...references(pod.spec)]
    .filter(({ local }) => !(local && hasLocalObjects))
    .map(({ path, resource }) => ({
      path,
      message: `Forbidden: static pods may not reference ${resource}`,
    }));
}

function* references(spec: PodSpec): Generator<Found> {
  if (spec.serviceAccountName) yield { path: "spec.serviceAccountName", resource: "serviceaccounts" };
  for (const [i, secret] of (spec.imagePullSecrets ?? []).entries())
    if (secret.name) yield { path: `spec.imagePullSecrets[${i}]`, resource: "secrets", local: true };
  for (const kind of ["initContainers", "containers"] as const)
    for (const [i, container] of (spec[kind] ?? []).entries())
      yield* containerReferences(container, `spec.${kind}[${i}]`);
  if (spec.resourceClaims?.length) yield { path: "spec.resourceClaims", resource: "resourceclaims" };
  for (const [i, volume] of (spec.volumes ?? []).entries())
    yield* volumeReferences(volume, `spec.volumes[${i}]`);
}

function* containerReferences(container: Container, at: string): Generator<Found> {
  for (const [i, source] of (container.envFrom ?? []).entries()) {
    if (source.secretRef?.name)
      yield { path: `${at}.envFrom[${i}].secretRef`, resource: "secrets", local: true };
    if (source.configMapRef?.name)
      yield { path: `${at}.envFrom[${i}].configMapRef`, resource: "configmaps", local: true };
  }
  for (const [i, { valueFrom }] of (container.env ?? []).entries()) {
    const path = `${at}.env[${i}].valueFrom`;
    if (valueFrom?.secretKeyRef?.name)
      yield { path: `${path}.secretKeyRef`, resource: "secrets", local: true };
    if (valueFrom?.configMapKeyRef?.name)
      yield { path: `${path}.configMapKeyRef`, resource: "configmaps", local: true };
  }
}

function* volumeReferences(volume: Volume, at: string): Generator<Found> {
  for (const [kind, resource] of volumeResources)
    if (volume[kind]) yield { path: `${at}.${kind}`, resource, ...localKind(kind) };
  for (const kind of secretRefVolumes)
    if (volume[kind]?.secretRef?.name) yield { path: `${at}.${kind}.secretRef`, resource: "secrets" };
  for (const [i, source] of (volume.projected?.sources ?? []).entries())
    for (const kind of Object.keys(source)) {
      const resource = projectedResources[kind];
      if (resource) yield { path: `${at}.projected.sources[${i}].${kind}`, resource, ...localKind(kind) };
    }
}

function localKind(kind: string): { local?: true } {
  return kind === "configMap" || kind === "secret" ? { local: true } : {};
}
