import type { Container, EphemeralContainer, Pod, Volume } from "../../../lib/model/pod.ts";

export type ObjectKind = "ConfigMap" | "Secret";

export interface ObjectRef {
  readonly kind: ObjectKind;
  readonly namespace: string;
  readonly name: string;
}

export interface PodObjectRef extends ObjectRef {
  /** A change reaches the running pod through a volume. Other objects are read only when a container starts. */
  readonly live: boolean;
}

/** A unique key for the object. */
export function refKey({ kind, namespace, name }: ObjectRef): string {
  return `${kind} ${namespace}/${name}`;
}

/** Every ConfigMap and Secret that the pod spec refers to, each once. Secrets of the PersistentVolumes of its PVCs are not included. */
export function objectsOf(pod: Pod): PodObjectRef[] {
  const { namespace } = pod.metadata;
  const found = new Map<string, PodObjectRef>();
  const add = (kind: ObjectKind, name: string | undefined, live: boolean) => {
    if (!name) return;
    const ref = { kind, namespace, name, live };
    const key = refKey(ref);
    if (live || !found.has(key)) found.set(key, ref);
  };
  const { spec } = pod;
  for (const { name } of spec.imagePullSecrets ?? []) add("Secret", name, false);
  for (const container of allContainers(pod)) {
    for (const { configMapRef, secretRef } of container.envFrom ?? []) {
      add("ConfigMap", configMapRef?.name, false);
      add("Secret", secretRef?.name, false);
    }
    for (const { valueFrom } of container.env ?? []) {
      add("ConfigMap", valueFrom?.configMapKeyRef?.name, false);
      add("Secret", valueFrom?.secretKeyRef?.name, false);
    }
  }
  for (const volume of spec.volumes ?? []) {
    for (const name of configMapsOf(volume)) add("ConfigMap", name, true);
    for (const name of secretsOf(volume)) add("Secret", name, true);
  }
  return [...found.values()];
}

function allContainers({ spec }: Pod): (Container | EphemeralContainer)[] {
  return [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
}

function configMapsOf({ configMap, projected }: Volume): (string | undefined)[] {
  return [configMap?.name, ...(projected?.sources ?? []).map((source) => source.configMap?.name)];
}

function secretsOf(volume: Volume): (string | undefined)[] {
  return [
    volume.secret?.secretName,
    ...(volume.projected?.sources ?? []).map((source) => source.secret?.name),
    volume.csi?.nodePublishSecretRef?.name,
    volume.azureFile?.secretName,
    volume.cephfs?.secretRef?.name,
    volume.cinder?.secretRef?.name,
    volume.flexVolume?.secretRef?.name,
    volume.iscsi?.secretRef?.name,
    volume.rbd?.secretRef?.name,
    volume.scaleIO?.secretRef?.name,
    volume.storageos?.secretRef?.name,
  ];
}
