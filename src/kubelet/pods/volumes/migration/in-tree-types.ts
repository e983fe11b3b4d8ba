import { KubeletError } from "../../../../lib/base/errors.ts";

type StringMap = Readonly<Record<string, string>>;

/** The context of a volume source. */
export interface TranslationContext {
  readonly isInline: boolean;
  /** The name of the PersistentVolume, or of the pod's volume. */
  readonly name: string;
  /** The namespace of the pod, or of the PVC that the volume is bound to. */
  readonly namespace: string;
  readonly labels: StringMap;
  readonly annotations: StringMap;
}

interface SecretRef {
  readonly name: string;
  readonly namespace: string;
}

/** A CSIPersistentVolumeSource. */
export interface CsiVolumeSource {
  readonly driver: string;
  readonly volumeHandle: string;
  readonly fsType?: string;
  readonly readOnly?: boolean;
  readonly volumeAttributes: StringMap;
  readonly nodeStageSecretRef?: SecretRef;
  readonly nodePublishSecretRef?: SecretRef;
  readonly nodeExpandSecretRef?: SecretRef;
}

export interface InTreeType {
  /** "kubernetes.io/aws-ebs" */
  readonly plugin: string;
  // biome-ignore lint/suspicious/noExplicitAny: each type has its own fields, as in the API.
  translate(source: any, context: TranslationContext): CsiVolumeSource;
  /** The name of an inline volume, the same for all pods with this disk; default: driver and handle. */
  // biome-ignore lint/suspicious/noExplicitAny: as above
  inlineName?(source: any, translate: CsiVolumeSource): string;
  /** The access mode of inline volumes; default: ReadWriteOnce. */
  inlineMode?(source: { readonly readOnly?: boolean }): string;
  /** Translates the access modes of a PersistentVolume, if the driver is stricter than the in-tree type. */
  modes?(modes: readonly string[]): readonly string[];
  /** The topology labels of the driver. */
  readonly zoneLabel?: string;
  readonly regionLabel?: string;
}

const drivers = {
  aws: "ebs.csi.aws.com",
  gce: "pd.csi.storage.gke.io",
  azureDisk: "disk.csi.azure.com",
  azureFile: "file.csi.azure.com",
  cinder: "cinder.csi.openstack.org",
  vsphere: "csi.vsphere.vmware.com",
  portworx: "pxd.portworx.com",
};
const readOnlyMany = ({ readOnly }: { readonly readOnly?: boolean }) =>
  readOnly ? "ReadOnlyMany" : "ReadWriteOnce";

/** By the field of the API that the volume has. */
export const inTreeTypes: Readonly<Record<string, InTreeType>> = {
  awsElasticBlockStore: {
    plugin: "kubernetes.io/aws-ebs",
    translate: ({ volumeID, fsType, readOnly, partition = 0 }) => ({
      driver: drivers.aws,
      volumeHandle: ebsVolume(volumeID),
      fsType,
      readOnly,
      volumeAttributes: { partition: String(partition) },
    }),
    zoneLabel: "topology.ebs.csi.aws.com/zone",
  },
  gcePersistentDisk: {
    plugin: "kubernetes.io/gce-pd",
    translate: ({ pdName, fsType, readOnly, partition }, { isInline, labels }) => ({
      driver: drivers.gce,
      volumeHandle: gceDisk(pdName, isInline ? {} : labels),
      fsType,
      readOnly,
      volumeAttributes: { partition: partition ? String(partition) : "" },
    }),
    inlineName: ({ pdName }) => `${drivers.gce}-${pdName}`,
    inlineMode: readOnlyMany,
    // The in-tree type ignored access modes; the driver rejects several writers, and readers together with a writer.
    modes: (modes) => {
      const isForReaders = modes.length > 0 && modes.every((mode) => mode === "ReadOnlyMany");
      return [isForReaders ? "ReadOnlyMany" : "ReadWriteOnce"];
    },
    zoneLabel: "topology.gke.io/zone",
  },
  azureDisk: {
    plugin: "kubernetes.io/azure-disk",
    translate({ diskURI, kind, cachingMode, fsType, readOnly }, { isInline }) {
      if (kind && String(kind).toLowerCase() !== "managed")
        throw new KubeletError("Volume", `kind(${kind}) is not supported in csi migration`);
      const isCached = isInline ? Boolean(cachingMode) : cachingMode !== undefined;
      const volumeAttributes = {
        kind: "Managed",
        ...(isCached && { cachingmode: cachingMode }),
        ...(fsType !== undefined && { fstype: fsType }),
      };
      return { driver: drivers.azureDisk, volumeHandle: diskURI, fsType, readOnly, volumeAttributes };
    },
    inlineName: ({ diskURI }) => diskURI,
  },
  azureFile: {
    plugin: "kubernetes.io/azure-file",
    translate(
      { secretName, secretNamespace, shareName, readOnly },
      { isInline, name, namespace, annotations },
    ) {
      const account = /azure-storage-account-(.+)-secret/.exec(secretName)?.[1] ?? secretName;
      const resources = isInline ? "" : (annotations["kubernetes.io/azure-file-resource-group"] ?? "");
      const owner = (isInline ? undefined : secretNamespace) ?? namespace;
      if (!owner)
        throw new KubeletError(
          "Volume",
          "could not find a secret namespace in PersistentVolumeSource or ClaimRef",
        );
      return {
        driver: drivers.azureFile,
        readOnly,
        volumeHandle: [resources, account, shareName, name, owner].join("#"),
        volumeAttributes: { sharename: shareName },
        nodeStageSecretRef: { name: secretName, namespace: owner },
      };
    },
    inlineName: (_, { volumeHandle }) => volumeHandle,
    inlineMode: () => "ReadWriteMany",
  },
  cinder: {
    plugin: "kubernetes.io/cinder",
    translate: ({ volumeID, fsType, readOnly }) => ({
      driver: drivers.cinder,
      volumeHandle: volumeID,
      fsType,
      readOnly,
      volumeAttributes: {},
    }),
    zoneLabel: "topology.cinder.csi.openstack.org/zone",
  },
  vsphereVolume: {
    plugin: "kubernetes.io/vsphere-volume",
    translate: ({ volumePath, fsType, storagePolicyName }) => ({
      driver: drivers.vsphere,
      volumeHandle: volumePath,
      fsType,
      volumeAttributes: { ...(storagePolicyName && { storagepolicyname: String(storagePolicyName) }) },
    }),
    zoneLabel: "topology.csi.vmware.com/zone",
    regionLabel: "topology.csi.vmware.com/region",
  },
  portworxVolume: {
    plugin: "kubernetes.io/portworx-volume",
    translate({ volumeID, fsType }, { annotations }) {
      const name = annotations["openstorage.io/auth-secret-name"];
      const namespace = annotations["openstorage.io/auth-secret-namespace"];
      const secret = name !== undefined && namespace !== undefined ? { name, namespace } : undefined;
      return {
        driver: drivers.portworx,
        volumeHandle: volumeID,
        fsType,
        volumeAttributes: {},
        ...(secret && {
          nodeStageSecretRef: secret,
          nodePublishSecretRef: secret,
          nodeExpandSecretRef: secret,
        }),
      };
    },
    inlineMode: readOnlyMany,
  },
};

/** "aws://zone/vol-1" and "aws:///vol-1" are "vol-1". */
function ebsVolume(id: string): string {
  if (!id.startsWith("aws://")) return id;
  const [, ...path] = id.slice("aws://".length).split("/");
  const first = path.findIndex((part) => part !== "");
  const last = path.findLastIndex((part) => part !== "");
  const volume = path.slice(Math.max(first, 0), last + 1).join("/");
  if (/^vol-[^/]*$/.test(volume)) return volume;
  const message = `failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (${id})`;
  throw new KubeletError("Volume", message);
}

/** The handle with the zone or region from the volume's labels; the driver resolves unspecified parts. */
function gceDisk(disk: string, labels: StringMap): string {
  const label =
    labels["failure-domain.beta.kubernetes.io/zone"] || labels["topology.kubernetes.io/zone"] || "";
  const zones = label.split("__");
  if (zones.length === 1) return `projects/UNSPECIFIED/zones/${zones[0] || "UNSPECIFIED"}/disks/${disk}`;
  const regions = new Set(zones.map((zone) => zone.split("-").slice(0, 2).join("-")));
  const [region] = regions;
  if (regions.size === 1 && zones.every((zone) => zone.split("-").length === 3))
    return `projects/UNSPECIFIED/regions/${region}/disks/${disk}`;
  throw new KubeletError("Volume", `failed to get region from zones: ${zones.join(", ")}`);
}
