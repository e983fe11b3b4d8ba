/** In the notation of `../descriptions.ts`. */
export const volumeDescriptions = `
core.Volume: A volume of a pod: a name and one of the sources.
  configMap: Keys of a ConfigMap as files.
  csi: An ephemeral volume of a CSI driver.
  downwardAPI: Fields of the pod as files.
  emptyDir: An empty directory with the lifetime of the pod.
  ephemeral: A PVC that is created for the pod and deleted with it.
  hostPath: A file or directory of the node.
  image: Contents of an OCI image.
  iscsi: An iSCSI disk.
  name: Name that containers mount it by.
  nfs: A directory of an NFS server.
  persistentVolumeClaim: A PVC in the same namespace.
  projected: Several sources in one directory.
  secret: Keys of a Secret as files.
core.ConfigMapVolumeSource: Keys of a ConfigMap as files.
  defaultMode: Permissions of the files. 0644 if omitted.
  items: Keys and their paths; all keys if omitted.
  name: Name of the ConfigMap.
  optional: Whether it may be missing.
core.SecretVolumeSource: Keys of a Secret as files.
  defaultMode: Permissions of the files. 0644 if omitted.
  items: Keys and their paths; all keys if omitted.
  optional: Whether it may be missing.
  secretName: Name of the Secret.
core.KeyToPath: A key and the path of its file.
  key: The key.
  mode: Permissions of the file.
  path: Path of the file in the volume.
core.EmptyDirVolumeSource: An empty directory.
  medium: "Memory" for a tmpfs; the disk of the node if empty.
  sizeLimit: Maximum size.
core.HostPathVolumeSource: A path on the node.
  path: The path.
  type: Type that the path must have, or is created with.
core.PersistentVolumeClaimVolumeSource: A PVC.
  claimName: Name of the PVC.
  readOnly: Whether mounts are read-only.
core.ProjectedVolumeSource: Several sources in one directory.
  defaultMode: Permissions of the files. 0644 if omitted.
  sources: The sources.
core.VolumeProjection: A source of a projected volume: one of these.
  clusterTrustBundle: CA certificates of a ClusterTrustBundle.
  configMap: Keys of a ConfigMap.
  downwardAPI: Fields of the pod.
  podCertificate: A private key and certificate of the pod.
  secret: Keys of a Secret.
  serviceAccountToken: A service account token.
core.ServiceAccountTokenProjection: A service account token.
  audience: Intended audience; the API server if omitted.
  expirationSeconds: Requested lifetime in seconds. It is rotated before it expires.
  path: Path of the file in the volume.
core.DownwardAPIVolumeSource: Fields of the pod as files.
  defaultMode: Permissions of the files. 0644 if omitted.
  items: Fields and their paths.
core.DownwardAPIVolumeFile: A field and the path of its file.
  fieldRef: A field of the pod.
  mode: Permissions of the file.
  path: Path of the file in the volume.
  resourceFieldRef: A request or limit of a container.
core.CSIVolumeSource: A volume of a CSI driver.
  driver: Name of the driver.
  fsType: Filesystem type.
  nodePublishSecretRef: Secret that is passed to the driver.
  readOnly: Whether it is read-only.
  volumeAttributes: Attributes that are passed to the driver.
core.ImageVolumeSource: Contents of an OCI image.
  pullPolicy: When the image is pulled.
  reference: Name of the image.
core.NFSVolumeSource: A directory of an NFS server.
  path: Exported path.
  readOnly: Whether it is read-only.
  server: Name or address of the server.
core.EphemeralVolumeSource: A PVC that is created for the pod.
  volumeClaimTemplate: Template of the PVC.
core.PersistentVolume: A piece of storage in the cluster.
  spec: Desired state.
  status: Observed state.
core.PersistentVolumeSpec: Desired state of a volume: a source and its properties.
  accessModes: Supported access modes.
  capacity: Size of the volume.
  claimRef: PVC that the volume is bound to.
  csi: A volume of a CSI driver.
  hostPath: A path on the node, for tests.
  local: A disk or directory of one node.
  mountOptions: Mount options.
  nfs: A directory of an NFS server.
  nodeAffinity: Nodes that can access the volume.
  persistentVolumeReclaimPolicy: What happens to the volume when its PVC is deleted.
  storageClassName: Name of the StorageClass.
  volumeMode: Filesystem or Block.
core.PersistentVolumeStatus: Observed state of a volume.
  lastPhaseTransitionTime: When the phase last changed.
  message: Human-readable details.
  phase: Phase of the volume, such as Bound.
  reason: Short reason, in CamelCase.
core.PersistentVolumeClaim: A request for storage.
  spec: Desired state.
  status: Observed state.
core.PersistentVolumeClaimSpec: Desired state of a PVC.
  accessModes: Required access modes.
  dataSource: Source that the volume is populated from.
  dataSourceRef: The same, for more kinds of sources.
  resources: Required size.
  selector: Labels of volumes that can be bound.
  storageClassName: Name of the StorageClass; the default class if omitted.
  volumeMode: Filesystem or Block.
  volumeName: Volume that the PVC is bound to.
core.PersistentVolumeClaimStatus: Observed state of a PVC.
  accessModes: Access modes of the volume.
  capacity: Size of the volume.
  conditions: Current conditions.
  phase: Phase of the PVC, such as Bound.
core.PersistentVolumeClaimTemplate: Template of a PVC.
  spec: Desired state of the PVC.
core.VolumeResourceRequirements: Size of a volume.
  limits: Maximum size.
  requests: Minimum size.
storage.StorageClass: A class of storage and how volumes are provisioned.
  allowVolumeExpansion: Whether volumes can be expanded.
  allowedTopologies: Where volumes can be provisioned.
  mountOptions: Mount options of the volumes.
  parameters: Parameters that are passed to the provisioner.
  provisioner: Provisioner of the volumes.
  reclaimPolicy: Reclaim policy of the volumes.
  volumeBindingMode: When volumes are provisioned and bound.
storage.CSIDriver: A CSI driver installed in the cluster.
  spec: Capabilities of the driver.
storage.CSINode: The CSI drivers of a node.
  spec: The drivers.
storage.VolumeAttachment: The intent to attach a volume to a node.
  spec: Volume and node.
  status: Whether it is attached.
`;
