import type { Container, Pod, Volume } from "../../lib/model/pod.ts";

const secretRefVolumes = ["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"] as const;

function* containersOf(spec: Pod["spec"]): Generator<Pick<Container, "env" | "envFrom">> {
  yield* spec.initContainers ?? [];
  yield* spec.containers ?? [];
  yield* spec.ephemeralContainers ?? [];
}

/** The secrets that a pod names, other than through its PVCs. */
export function secretNames(spec: Pod["spec"]): Set<string> {
  const names = [...(spec.imagePullSecrets ?? []).map(({ name }) => name)];
  for (const container of containersOf(spec)) {
    names.push(...(container.envFrom ?? []).map(({ secretRef }) => secretRef?.name));
    names.push(...(container.env ?? []).map(({ valueFrom }) => valueFrom?.secretKeyRef?.name));
  }
  for (const volume of spec.volumes ?? []) {
    names.push(volume.azureFile?.secretName, volume.secret?.secretName);
    names.push(volume.csi?.nodePublishSecretRef?.name);
    names.push(...(volume.projected?.sources ?? []).map(({ secret }) => secret?.name));
    for (const kind of secretRefVolumes) names.push(volume[kind]?.secretRef?.name);
  }
  return given(names);
}

export function configMapNames(spec: Pod["spec"]): Set<string> {
  const names: (string | undefined)[] = [];
  for (const container of containersOf(spec)) {
    names.push(...(container.envFrom ?? []).map(({ configMapRef }) => configMapRef?.name));
    names.push(...(container.env ?? []).map(({ valueFrom }) => valueFrom?.configMapKeyRef?.name));
  }
  for (const volume of spec.volumes ?? []) {
    names.push(volume.configMap?.name);
    names.push(...(volume.projected?.sources ?? []).map(({ configMap }) => configMap?.name));
  }
  return given(names);
}

/** The PVCs of a pod, including those that are created for it. */
export function claimNames(pod: Pod): Set<string> {
  return given((pod.spec.volumes ?? []).map((volume) => claimName(pod, volume)));
}

/** The resource claims of a pod, including those that were created for it. */
export function resourceClaimNames({ spec, status }: Pod): Set<string> {
  return given([
    ...(spec.resourceClaims ?? []).map(({ resourceClaimName }) => resourceClaimName),
    ...(status?.resourceClaimStatuses ?? []).map(({ resourceClaimName }) => resourceClaimName),
    status?.extendedResourceClaimStatus?.resourceClaimName,
  ]);
}

export function claimName(pod: Pod, volume: Volume): string | undefined {
  if (volume.persistentVolumeClaim) return volume.persistentVolumeClaim.claimName;
  return volume.ephemeral ? `${pod.metadata.name}-${volume.name}` : undefined;
}

function given(names: Iterable<string | undefined>): Set<string> {
  return new Set([...names].filter((name) => name !== undefined && name !== "") as string[]);
}
