import type { PersistentVolume } from "../../../lib/gen/kubernetes/core.d.ts";

interface SecretRef {
  readonly name?: string;
  readonly namespace?: string;
}

/** The secrets of a bound volume that a node needs to mount it, not those that only a controller needs. */
export function volumeSecrets({ spec }: PersistentVolume): { namespace: string; name: string }[] {
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
