/** In the notation of `../type-notation.ts`. */
export const volumeTypes = `
AWSElasticBlockStoreVolumeSource: fsType string, partition int32, readOnly bool, volumeID! string
AzureDiskVolumeSource: cachingMode AzureDataDiskCachingMode =ReadWrite, diskName! string, diskURI! string,
  fsType string =ext4, kind AzureDataDiskKind =Shared, readOnly bool
AzureFilePersistentVolumeSource: readOnly bool, secretName! string, secretNamespace string,
  shareName! string
AzureFileVolumeSource: readOnly bool, secretName! string, shareName! string
CSIPersistentVolumeSource: controllerExpandSecretRef SecretReference,
  controllerPublishSecretRef SecretReference, driver! string, fsType string,
  nodeExpandSecretRef SecretReference, nodePublishSecretRef SecretReference,
  nodeStageSecretRef SecretReference, readOnly bool, volumeAttributes map string, volumeHandle! string
CSIVolumeSource: driver! string, fsType string, nodePublishSecretRef LocalObjectReference, readOnly bool,
  volumeAttributes map string
CephFSPersistentVolumeSource: monitors! []string, path string, readOnly bool, secretFile string,
  secretRef SecretReference, user string
CephFSVolumeSource: monitors! []string, path string, readOnly bool, secretFile string,
  secretRef LocalObjectReference, user string
CinderPersistentVolumeSource: fsType string, readOnly bool, secretRef SecretReference, volumeID! string
CinderVolumeSource: fsType string, readOnly bool, secretRef LocalObjectReference, volumeID! string
ClusterTrustBundleProjection: labelSelector meta.LabelSelector, name string, optional bool, path! string,
  signerName string
ConfigMapProjection: items []KeyToPath, optional bool, ...LocalObjectReference, name string =
ConfigMapVolumeSource: defaultMode int32, items []KeyToPath, optional bool, ...LocalObjectReference,
  name string =
DownwardAPIProjection: items []DownwardAPIVolumeFile
DownwardAPIVolumeFile: fieldRef ObjectFieldSelector, mode int32, path! string,
  resourceFieldRef ResourceFieldSelector
DownwardAPIVolumeSource: defaultMode int32, items []DownwardAPIVolumeFile
EmptyDirVolumeSource: medium StorageMedium, sizeLimit quantity
EphemeralVolumeSource: volumeClaimTemplate PersistentVolumeClaimTemplate
FCVolumeSource: fsType string, lun int32, readOnly bool, targetWWNs []string, wwids []string
FlexPersistentVolumeSource: driver! string, fsType string, options map string, readOnly bool,
  secretRef SecretReference
FlexVolumeSource: driver! string, fsType string, options map string, readOnly bool,
  secretRef LocalObjectReference
FlockerVolumeSource: datasetName string, datasetUUID string
GCEPersistentDiskVolumeSource: fsType string, partition int32, pdName! string, readOnly bool
GitRepoVolumeSource: directory string, repository! string, revision string
GlusterfsPersistentVolumeSource: endpoints! string, endpointsNamespace string, path! string, readOnly bool
GlusterfsVolumeSource: endpoints! string, path! string, readOnly bool
HostPathVolumeSource: path! string, type HostPathType
ISCSIPersistentVolumeSource: chapAuthDiscovery bool, chapAuthSession bool, fsType string,
  initiatorName string, iqn! string, iscsiInterface string =default, lun! int32, portals []string,
  readOnly bool, secretRef SecretReference, targetPortal! string
ISCSIVolumeSource: chapAuthDiscovery bool, chapAuthSession bool, fsType string, initiatorName string,
  iqn! string, iscsiInterface string =default, lun! int32, portals []string, readOnly bool,
  secretRef LocalObjectReference, targetPortal! string
ImageVolumeSource: pullPolicy PullPolicy, reference string
KeyToPath: key! string, mode int32, path! string
LocalVolumeSource: fsType string, path! string
ModifyVolumeStatus: status! PersistentVolumeClaimModifyVolumeStatus, targetVolumeAttributesClassName string
NFSVolumeSource: path! string, readOnly bool, server! string
kind PersistentVolume: metadata meta.ObjectMeta, spec PersistentVolumeSpec, status PersistentVolumeStatus
kind PersistentVolumeClaim: metadata meta.ObjectMeta, spec PersistentVolumeClaimSpec,
  status PersistentVolumeClaimStatus
PersistentVolumeClaimCondition: lastProbeTime time, lastTransitionTime time, message string, reason string,
  status! ConditionStatus, type! PersistentVolumeClaimConditionType
PersistentVolumeClaimSpec: accessModes []PersistentVolumeAccessMode, dataSource TypedLocalObjectReference,
  dataSourceRef TypedObjectReference, resources VolumeResourceRequirements, selector meta.LabelSelector,
  storageClassName string, volumeAttributesClassName string, volumeMode PersistentVolumeMode,
  volumeName string
PersistentVolumeClaimStatus: accessModes []PersistentVolumeAccessMode,
  allocatedResourceStatuses map ClaimResourceStatus granular, allocatedResources ResourceList,
  capacity ResourceList, conditions []PersistentVolumeClaimCondition by:type merge,
  currentVolumeAttributesClassName string, modifyVolumeStatus ModifyVolumeStatus,
  phase PersistentVolumeClaimPhase
PersistentVolumeClaimTemplate: metadata meta.ObjectMeta, spec! PersistentVolumeClaimSpec
PersistentVolumeClaimVolumeSource: claimName! string, readOnly bool
PersistentVolumeSpec: accessModes []PersistentVolumeAccessMode, capacity ResourceList,
  claimRef ObjectReference granular, mountOptions []string, nodeAffinity VolumeNodeAffinity,
  persistentVolumeReclaimPolicy PersistentVolumeReclaimPolicy, storageClassName string,
  volumeAttributesClassName string, volumeMode PersistentVolumeMode, ...PersistentVolumeSource,
  awsElasticBlockStore AWSElasticBlockStoreVolumeSource, azureDisk AzureDiskVolumeSource,
  azureFile AzureFilePersistentVolumeSource, cephfs CephFSPersistentVolumeSource,
  cinder CinderPersistentVolumeSource, csi CSIPersistentVolumeSource, fc FCVolumeSource,
  flexVolume FlexPersistentVolumeSource, flocker FlockerVolumeSource,
  gcePersistentDisk GCEPersistentDiskVolumeSource, glusterfs GlusterfsPersistentVolumeSource,
  hostPath HostPathVolumeSource, iscsi ISCSIPersistentVolumeSource, local LocalVolumeSource,
  nfs NFSVolumeSource, photonPersistentDisk PhotonPersistentDiskVolumeSource,
  portworxVolume PortworxVolumeSource, quobyte QuobyteVolumeSource, rbd RBDPersistentVolumeSource,
  scaleIO ScaleIOPersistentVolumeSource, storageos StorageOSPersistentVolumeSource,
  vsphereVolume VsphereVirtualDiskVolumeSource
PersistentVolumeStatus: lastPhaseTransitionTime time, message string, phase PersistentVolumePhase,
  reason string
PhotonPersistentDiskVolumeSource: fsType string, pdID! string
PodCertificateProjection: certificateChainPath string, credentialBundlePath string, keyPath string,
  keyType! string, maxExpirationSeconds int32, signerName! string, userAnnotations map string
PortworxVolumeSource: fsType string, readOnly bool, volumeID! string
ProjectedVolumeSource: defaultMode int32, sources []VolumeProjection
QuobyteVolumeSource: group string, readOnly bool, registry! string, tenant string, user string,
  volume! string
RBDPersistentVolumeSource: fsType string, image! string, keyring string =/etc/ceph/keyring,
  monitors! []string, pool string =rbd, readOnly bool, secretRef SecretReference, user string =admin
RBDVolumeSource: fsType string, image! string, keyring string =/etc/ceph/keyring, monitors! []string,
  pool string =rbd, readOnly bool, secretRef LocalObjectReference, user string =admin
ScaleIOPersistentVolumeSource: fsType string =xfs, gateway! string, protectionDomain string, readOnly bool,
  secretRef! SecretReference, sslEnabled bool, storageMode string =ThinProvisioned, storagePool string,
  system! string, volumeName string
ScaleIOVolumeSource: fsType string =xfs, gateway! string, protectionDomain string, readOnly bool,
  secretRef! LocalObjectReference, sslEnabled bool, storageMode string =ThinProvisioned, storagePool string,
  system! string, volumeName string
SecretProjection: items []KeyToPath, optional bool, ...LocalObjectReference, name string =
SecretVolumeSource: defaultMode int32, items []KeyToPath, optional bool, secretName string
ServiceAccountTokenProjection: audience string, expirationSeconds int64, path! string
StorageOSPersistentVolumeSource: fsType string, readOnly bool, secretRef ObjectReference, volumeName string,
  volumeNamespace string
StorageOSVolumeSource: fsType string, readOnly bool, secretRef LocalObjectReference, volumeName string,
  volumeNamespace string
Volume: name! string, ...VolumeSource, awsElasticBlockStore AWSElasticBlockStoreVolumeSource,
  azureDisk AzureDiskVolumeSource, azureFile AzureFileVolumeSource, cephfs CephFSVolumeSource,
  cinder CinderVolumeSource, configMap ConfigMapVolumeSource, csi CSIVolumeSource,
  downwardAPI DownwardAPIVolumeSource, emptyDir EmptyDirVolumeSource, ephemeral EphemeralVolumeSource,
  fc FCVolumeSource, flexVolume FlexVolumeSource, flocker FlockerVolumeSource,
  gcePersistentDisk GCEPersistentDiskVolumeSource, gitRepo GitRepoVolumeSource,
  glusterfs GlusterfsVolumeSource, hostPath HostPathVolumeSource, image ImageVolumeSource,
  iscsi ISCSIVolumeSource, nfs NFSVolumeSource, persistentVolumeClaim PersistentVolumeClaimVolumeSource,
  photonPersistentDisk PhotonPersistentDiskVolumeSource, portworxVolume PortworxVolumeSource,
  projected ProjectedVolumeSource, quobyte QuobyteVolumeSource, rbd RBDVolumeSource,
  scaleIO ScaleIOVolumeSource, secret SecretVolumeSource, storageos StorageOSVolumeSource,
  vsphereVolume VsphereVirtualDiskVolumeSource
VolumeNodeAffinity: required NodeSelector
VolumeProjection: clusterTrustBundle ClusterTrustBundleProjection, configMap ConfigMapProjection,
  downwardAPI DownwardAPIProjection, podCertificate PodCertificateProjection, secret SecretProjection,
  serviceAccountToken ServiceAccountTokenProjection
VolumeResourceRequirements: limits ResourceList, requests ResourceList
VsphereVirtualDiskVolumeSource: fsType string, storagePolicyID string, storagePolicyName string,
  volumePath! string
AzureDataDiskCachingMode = string None | ReadOnly | ReadWrite
AzureDataDiskKind = string Dedicated | Managed | Shared
ClaimResourceStatus = string ControllerResizeInProgress | ControllerResizeInfeasible |
  NodeResizeInProgress | NodeResizeInfeasible | NodeResizePending
HostPathType = string  | BlockDevice | CharDevice | Directory | DirectoryOrCreate | File | FileOrCreate |
  Socket
PersistentVolumeAccessMode = string ReadOnlyMany | ReadWriteMany | ReadWriteOnce | ReadWriteOncePod
PersistentVolumeClaimConditionType = string
PersistentVolumeClaimModifyVolumeStatus = string InProgress | Infeasible | Pending
PersistentVolumeClaimPhase = string Bound | Lost | Pending
PersistentVolumeMode = string Block | Filesystem
PersistentVolumePhase = string Available | Bound | Failed | Pending | Released
PersistentVolumeReclaimPolicy = string Delete | Recycle | Retain
StorageMedium = string
`;
