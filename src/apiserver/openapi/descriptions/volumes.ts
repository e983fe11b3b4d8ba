/** In the notation of `../descriptions.ts`. */
export const volumeDescriptions = `
core.Volume: Storage of a pod: a name, and one of the sources.
  configMap: Keys of a config map as files.
  csi: A volume of a CSI driver that lives as long as the pod.
  downwardAPI: Fields of the pod as files.
  emptyDir: An empty folder that lives as long as the pod.
  ephemeral: A claim that is made for the pod and goes with it.
  hostPath: A file or folder of the node.
  image: Files of an image.
  iscsi: An iSCSI disk.
  name: Name by which containers mount it.
  nfs: A folder of an NFS server.
  persistentVolumeClaim: A claim in the same namespace.
  projected: Several sources in one folder.
  secret: Keys of a secret as files.
core.ConfigMapVolumeSource: Keys of a config map as files.
  defaultMode: Permissions of the files. 0644 if left out.
  items: Which keys, and where to; all if left out.
  name: Name of the config map.
  optional: Whether it may be missing.
core.SecretVolumeSource: Keys of a secret as files.
  defaultMode: Permissions of the files. 0644 if left out.
  items: Which keys, and where to; all if left out.
  optional: Whether it may be missing.
  secretName: Name of the secret.
core.KeyToPath: A key, and the file it becomes.
  key: The key.
  mode: Permissions of the file.
  path: Path of the file in the volume.
core.EmptyDirVolumeSource: An empty folder.
  medium: "Memory" keeps it in memory; the disk of the node if empty.
  sizeLimit: The most it may hold.
core.HostPathVolumeSource: A path of the node.
  path: The path.
  type: What must be there, or is made if it is not.
core.PersistentVolumeClaimVolumeSource: A claim.
  claimName: Name of the claim.
  readOnly: Whether mounts are read-only.
core.ProjectedVolumeSource: Several sources in one folder.
  defaultMode: Permissions of the files. 0644 if left out.
  sources: The sources.
core.VolumeProjection: One of the sources.
  clusterTrustBundle: Certificates of authorities.
  configMap: Keys of a config map.
  downwardAPI: Fields of the pod.
  podCertificate: A certificate and key of the pod.
  secret: Keys of a secret.
  serviceAccountToken: A token of the service account.
core.ServiceAccountTokenProjection: A token.
  audience: Whom it is for; the API if left out.
  expirationSeconds: How long it is good. It is renewed before.
  path: Path of the file in the volume.
core.DownwardAPIVolumeSource: Fields of the pod as files.
  defaultMode: Permissions of the files. 0644 if left out.
  items: Which fields, and where to.
core.DownwardAPIVolumeFile: A field and the file it becomes.
  fieldRef: A field of the pod.
  mode: Permissions of the file.
  path: Path of the file in the volume.
  resourceFieldRef: A request or limit of a container.
core.CSIVolumeSource: A volume of a CSI driver.
  driver: Name of the driver.
  fsType: File system.
  nodePublishSecretRef: Secret that is given to the driver.
  readOnly: Whether it is read-only.
  volumeAttributes: What else the driver is told.
core.ImageVolumeSource: Files of an image.
  pullPolicy: When the image is fetched.
  reference: Name of the image.
core.NFSVolumeSource: A folder of an NFS server.
  path: The folder.
  readOnly: Whether it is read-only.
  server: Name or address of the server.
core.EphemeralVolumeSource: A claim that is made for the pod.
  volumeClaimTemplate: What the claim is to be.
core.PersistentVolume: A piece of storage in the cluster.
  spec: What it is.
  status: Whether it is in use.
core.PersistentVolumeSpec: What a volume is: a source, and its properties.
  accessModes: How it can be mounted.
  capacity: How large it is.
  claimRef: The claim it is bound to.
  csi: A volume of a CSI driver.
  hostPath: A path of the node, for tests.
  local: A disk or folder of one node.
  mountOptions: Options of the mount.
  nfs: A folder of an NFS server.
  nodeAffinity: Nodes that can reach it.
  persistentVolumeReclaimPolicy: What becomes of it after its claim.
  storageClassName: Its storage class.
  volumeMode: File system or block device.
core.PersistentVolumeStatus: Whether a volume is in use.
  lastPhaseTransitionTime: When the phase last changed.
  message: Why, in words.
  phase: Where it is in its life.
  reason: Why, in one word.
core.PersistentVolumeClaim: A request for storage.
  spec: What is wanted.
  status: What it got.
core.PersistentVolumeClaimSpec: What storage is wanted.
  accessModes: How it is to be mounted.
  dataSource: What it is filled from.
  dataSourceRef: The same, with more kinds of sources.
  resources: How large it is to be.
  selector: Labels of volumes that may be bound.
  storageClassName: Storage class; the default one if left out.
  volumeMode: File system or block device.
  volumeName: The volume it is bound to.
core.PersistentVolumeClaimStatus: What a claim got.
  accessModes: How the volume can be mounted.
  capacity: How large the volume is.
  conditions: What is true of it, and since when.
  phase: Where it is in its life.
core.PersistentVolumeClaimTemplate: A claim to be made.
  spec: What storage is wanted.
core.VolumeResourceRequirements: How large a volume is to be.
  limits: The most.
  requests: The least.
storage.StorageClass: A kind of storage, and how to make it.
  allowVolumeExpansion: Whether volumes can grow.
  allowedTopologies: Where volumes may be made.
  mountOptions: Options of the mounts.
  parameters: What the provisioner is told.
  provisioner: Who makes the volumes.
  reclaimPolicy: What becomes of volumes after their claims.
  volumeBindingMode: When volumes are made and bound.
storage.CSIDriver: A CSI driver of the cluster.
  spec: What it can do.
storage.CSINode: The CSI drivers of one node.
  spec: The drivers.
storage.VolumeAttachment: The wish to attach a volume to a node.
  spec: Which volume, and where to.
  status: Whether it is attached.
`;
