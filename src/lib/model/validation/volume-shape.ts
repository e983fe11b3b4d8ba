import { bool, int32, int64, list, map, object, quantity, type Shape, string, strings } from "./schema.ts";

export const localReference = object({ name: string });
export const labelSelector = object({
  matchLabels: map(string),
  matchExpressions: list(object({ ...strings("key", "operator"), values: list(string) })),
});
const keyToPath = list(object({ ...strings("key", "path"), mode: int32 }));
export const fieldRef = object(strings("apiVersion", "fieldPath"));
export const resourceFieldRef = object({ ...strings("containerName", "resource"), divisor: quantity });
const downwardItems = list(object({ path: string, fieldRef, resourceFieldRef, mode: int32 }));
const typedReference = strings("apiGroup", "kind", "name");

const claimTemplate = object({
  metadata: object({ labels: map(string), annotations: map(string), ...strings("name", "namespace") }),
  spec: object({
    accessModes: list(string),
    selector: labelSelector,
    resources: object({ limits: map(quantity), requests: map(quantity) }),
    ...strings("volumeName", "storageClassName", "volumeMode", "volumeAttributesClassName"),
    dataSource: object(typedReference),
    dataSourceRef: object({ ...typedReference, namespace: string }),
  }),
});

const projection = object({
  secret: object({ name: string, items: keyToPath, optional: bool }),
  configMap: object({ name: string, items: keyToPath, optional: bool }),
  downwardAPI: object({ items: downwardItems }),
  serviceAccountToken: object({ ...strings("audience", "path"), expirationSeconds: int64 }),
  clusterTrustBundle: object({ ...strings("name", "signerName", "path"), labelSelector, optional: bool }),
  podCertificate: object({
    ...strings("signerName", "keyType", "credentialBundlePath", "keyPath", "certificateChainPath"),
    maxExpirationSeconds: int32,
    userAnnotations: map(string),
  }),
});

/** Every volume source of the core API, the retired ones too: a manifest that names one gets a clear answer. */
export const volumeSources: Record<string, Shape> = {
  hostPath: object(strings("path", "type")),
  emptyDir: object({ medium: string, sizeLimit: quantity }),
  gcePersistentDisk: object({ ...strings("pdName", "fsType"), partition: int32, readOnly: bool }),
  awsElasticBlockStore: object({ ...strings("volumeID", "fsType"), partition: int32, readOnly: bool }),
  gitRepo: object(strings("repository", "revision", "directory")),
  secret: object({ secretName: string, items: keyToPath, defaultMode: int32, optional: bool }),
  nfs: object({ ...strings("server", "path"), readOnly: bool }),
  iscsi: object({
    ...strings("targetPortal", "iqn", "iscsiInterface", "fsType", "initiatorName"),
    lun: int32,
    readOnly: bool,
    portals: list(string),
    chapAuthDiscovery: bool,
    chapAuthSession: bool,
    secretRef: localReference,
  }),
  glusterfs: object({ ...strings("endpoints", "path"), readOnly: bool }),
  persistentVolumeClaim: object({ claimName: string, readOnly: bool }),
  rbd: object({
    monitors: list(string),
    ...strings("image", "fsType", "pool", "user", "keyring"),
    secretRef: localReference,
    readOnly: bool,
  }),
  flexVolume: object({
    ...strings("driver", "fsType"),
    secretRef: localReference,
    readOnly: bool,
    options: map(string),
  }),
  cinder: object({ ...strings("volumeID", "fsType"), readOnly: bool, secretRef: localReference }),
  cephfs: object({
    monitors: list(string),
    ...strings("path", "user", "secretFile"),
    secretRef: localReference,
    readOnly: bool,
  }),
  flocker: object(strings("datasetName", "datasetUUID")),
  downwardAPI: object({ items: downwardItems, defaultMode: int32 }),
  fc: object({
    targetWWNs: list(string),
    lun: int32,
    fsType: string,
    readOnly: bool,
    wwids: list(string),
  }),
  azureFile: object({ ...strings("secretName", "shareName"), readOnly: bool }),
  configMap: object({ name: string, items: keyToPath, defaultMode: int32, optional: bool }),
  vsphereVolume: object(strings("volumePath", "fsType", "storagePolicyName", "storagePolicyID")),
  quobyte: object({ ...strings("registry", "volume", "user", "group", "tenant"), readOnly: bool }),
  azureDisk: object({ ...strings("diskName", "diskURI", "cachingMode", "fsType", "kind"), readOnly: bool }),
  photonPersistentDisk: object(strings("pdID", "fsType")),
  projected: object({ sources: list(projection), defaultMode: int32 }),
  portworxVolume: object({ ...strings("volumeID", "fsType"), readOnly: bool }),
  scaleIO: object({
    ...strings("gateway", "system", "protectionDomain", "storagePool", "storageMode", "volumeName", "fsType"),
    secretRef: localReference,
    sslEnabled: bool,
    readOnly: bool,
  }),
  storageos: object({
    ...strings("volumeName", "volumeNamespace", "fsType"),
    readOnly: bool,
    secretRef: localReference,
  }),
  csi: object({
    ...strings("driver", "fsType"),
    readOnly: bool,
    volumeAttributes: map(string),
    nodePublishSecretRef: localReference,
  }),
  ephemeral: object({ volumeClaimTemplate: claimTemplate }),
  image: object(strings("reference", "pullPolicy")),
};

export const volumeShape = object({ name: string, ...volumeSources });
