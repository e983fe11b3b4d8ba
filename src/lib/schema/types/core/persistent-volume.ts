/** In the notation of `../../notation.ts`. */
export const persistentVolumeTypes = `
kind PersistentVolume
   1 metadata meta.ObjectMeta
   2 spec PersistentVolumeSpec
   3 status PersistentVolumeStatus
PersistentVolumeSpec
   1 capacity ResourceList
   2 ...PersistentVolumeSource
   3 accessModes []PersistentVolumeAccessMode
   4 claimRef *ObjectReference granular
   5 persistentVolumeReclaimPolicy PersistentVolumeReclaimPolicy
   6 storageClassName string
   7 mountOptions []string
   8 volumeMode *PersistentVolumeMode
   9 nodeAffinity *VolumeNodeAffinity
  10 volumeAttributesClassName *string
PersistentVolumeSource
   1 gcePersistentDisk *GCEPersistentDiskVolumeSource
   2 awsElasticBlockStore *AWSElasticBlockStoreVolumeSource
   3 hostPath *HostPathVolumeSource
   4 glusterfs *GlusterfsPersistentVolumeSource
   5 nfs *NFSVolumeSource
   6 rbd *RBDPersistentVolumeSource
   7 iscsi *ISCSIPersistentVolumeSource
   8 cinder *CinderPersistentVolumeSource
   9 cephfs *CephFSPersistentVolumeSource
  10 fc *FCVolumeSource
  11 flocker *FlockerVolumeSource
  12 flexVolume *FlexPersistentVolumeSource
  13 azureFile *AzureFilePersistentVolumeSource
  14 vsphereVolume *VsphereVirtualDiskVolumeSource
  15 quobyte *QuobyteVolumeSource
  16 azureDisk *AzureDiskVolumeSource
  17 photonPersistentDisk *PhotonPersistentDiskVolumeSource
  18 portworxVolume *PortworxVolumeSource
  19 scaleIO *ScaleIOPersistentVolumeSource
  20 local *LocalVolumeSource
  21 storageos *StorageOSPersistentVolumeSource
  22 csi *CSIPersistentVolumeSource
PersistentVolumeStatus
   1 phase PersistentVolumePhase
   2 message string
   3 reason string
   4 lastPhaseTransitionTime *time
VolumeNodeAffinity
   1 required *NodeSelector
LocalVolumeSource
   1 path! string
   2 fsType *string
CSIPersistentVolumeSource
   1 driver! string
   2 volumeHandle! string
   3 readOnly bool
   4 fsType string
   5 volumeAttributes map[string]string
   6 controllerPublishSecretRef *SecretReference
   7 nodeStageSecretRef *SecretReference
   8 nodePublishSecretRef *SecretReference
   9 controllerExpandSecretRef *SecretReference
  10 nodeExpandSecretRef *SecretReference
ISCSIPersistentVolumeSource
   1 targetPortal! string
   2 iqn! string
   3 lun! int32
   4 iscsiInterface string =default
   5 fsType string
   6 readOnly bool
   7 portals []string
   8 chapAuthDiscovery bool
  10 secretRef *SecretReference
  11 chapAuthSession bool
  12 initiatorName *string
FlexPersistentVolumeSource
   1 driver! string
   2 fsType string
   3 secretRef *SecretReference
   4 readOnly bool
   5 options map[string]string
kind PersistentVolumeClaim
   1 metadata meta.ObjectMeta
   2 spec PersistentVolumeClaimSpec
   3 status PersistentVolumeClaimStatus
PersistentVolumeClaimSpec
   1 accessModes []PersistentVolumeAccessMode
   2 resources VolumeResourceRequirements
   3 volumeName string
   4 selector *meta.LabelSelector
   5 storageClassName *string
   6 volumeMode *PersistentVolumeMode
   7 dataSource *TypedLocalObjectReference
   8 dataSourceRef *TypedObjectReference
   9 volumeAttributesClassName *string
PersistentVolumeClaimStatus
   1 phase PersistentVolumeClaimPhase
   2 accessModes []PersistentVolumeAccessMode
   3 capacity ResourceList
   4 conditions []PersistentVolumeClaimCondition by:type merge
   5 allocatedResources ResourceList
   7 allocatedResourceStatuses map[string]ClaimResourceStatus granular
   8 currentVolumeAttributesClassName *string
   9 modifyVolumeStatus *ModifyVolumeStatus
PersistentVolumeClaimCondition
   1 type! PersistentVolumeClaimConditionType
   2 status! ConditionStatus
   3 lastProbeTime time
   4 lastTransitionTime time
   5 reason string
   6 message string
PersistentVolumeClaimTemplate
   1 metadata meta.ObjectMeta
   2 spec! PersistentVolumeClaimSpec
ModifyVolumeStatus
   1 targetVolumeAttributesClassName string
   2 status! PersistentVolumeClaimModifyVolumeStatus
VolumeResourceRequirements
   1 limits ResourceList
   2 requests ResourceList
ClaimResourceStatus = string ControllerResizeInProgress | ControllerResizeInfeasible | NodeResizeInProgress
  | NodeResizeInfeasible | NodeResizePending
PersistentVolumeAccessMode = string ReadOnlyMany | ReadWriteMany | ReadWriteOnce | ReadWriteOncePod
PersistentVolumeClaimConditionType = string
PersistentVolumeClaimModifyVolumeStatus = string InProgress | Infeasible | Pending
PersistentVolumeClaimPhase = string Bound | Lost | Pending
PersistentVolumeMode = string Block | Filesystem
PersistentVolumePhase = string Available | Bound | Failed | Pending | Released
PersistentVolumeReclaimPolicy = string Delete | Recycle | Retain
`;
