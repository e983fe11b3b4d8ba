/** In the notation of `../../notation.ts`. */
export const inTreeVolumeTypes = `
AWSElasticBlockStoreVolumeSource
   1 volumeID! string
   2 fsType string
   3 partition int32
   4 readOnly bool
AzureDiskVolumeSource
   1 diskName! string
   2 diskURI! string
   3 cachingMode *AzureDataDiskCachingMode =ReadWrite
   4 fsType *string =ext4
   5 readOnly *bool
   6 kind *AzureDataDiskKind =Shared
AzureFileVolumeSource
   1 secretName! string
   2 shareName! string
   3 readOnly bool
AzureFilePersistentVolumeSource
   1 secretName! string
   2 shareName! string
   3 readOnly bool
   4 secretNamespace *string
CephFSVolumeSource
   1 monitors! []string
   2 path string
   3 user string
   4 secretFile string
   5 secretRef *LocalObjectReference
   6 readOnly bool
CephFSPersistentVolumeSource
   1 monitors! []string
   2 path string
   3 user string
   4 secretFile string
   5 secretRef *SecretReference
   6 readOnly bool
CinderVolumeSource
   1 volumeID! string
   2 fsType string
   3 readOnly bool
   4 secretRef *LocalObjectReference
CinderPersistentVolumeSource
   1 volumeID! string
   2 fsType string
   3 readOnly bool
   4 secretRef *SecretReference
FlockerVolumeSource
   1 datasetName string
   2 datasetUUID string
GCEPersistentDiskVolumeSource
   1 pdName! string
   2 fsType string
   3 partition int32
   4 readOnly bool
GlusterfsVolumeSource
   1 endpoints! string
   2 path! string
   3 readOnly bool
GlusterfsPersistentVolumeSource
   1 endpoints! string
   2 path! string
   3 readOnly bool
   4 endpointsNamespace *string
PhotonPersistentDiskVolumeSource
   1 pdID! string
   2 fsType string
PortworxVolumeSource
   1 volumeID! string
   2 fsType string
   3 readOnly bool
QuobyteVolumeSource
   1 registry! string
   2 volume! string
   3 readOnly bool
   4 user string
   5 group string
   6 tenant string
RBDVolumeSource
   1 monitors! []string
   2 image! string
   3 fsType string
   4 pool string =rbd
   5 user string =admin
   6 keyring string =/etc/ceph/keyring
   7 secretRef *LocalObjectReference
   8 readOnly bool
RBDPersistentVolumeSource
   1 monitors! []string
   2 image! string
   3 fsType string
   4 pool string =rbd
   5 user string =admin
   6 keyring string =/etc/ceph/keyring
   7 secretRef *SecretReference
   8 readOnly bool
ScaleIOVolumeSource
   1 gateway! string
   2 system! string
   3 secretRef! *LocalObjectReference
   4 sslEnabled bool
   5 protectionDomain string
   6 storagePool string
   7 storageMode string =ThinProvisioned
   8 volumeName string
   9 fsType string =xfs
  10 readOnly bool
ScaleIOPersistentVolumeSource
   1 gateway! string
   2 system! string
   3 secretRef! *SecretReference
   4 sslEnabled bool
   5 protectionDomain string
   6 storagePool string
   7 storageMode string =ThinProvisioned
   8 volumeName string
   9 fsType string =xfs
  10 readOnly bool
StorageOSVolumeSource
   1 volumeName string
   2 volumeNamespace string
   3 fsType string
   4 readOnly bool
   5 secretRef *LocalObjectReference
StorageOSPersistentVolumeSource
   1 volumeName string
   2 volumeNamespace string
   3 fsType string
   4 readOnly bool
   5 secretRef *ObjectReference
VsphereVirtualDiskVolumeSource
   1 volumePath! string
   2 fsType string
   3 storagePolicyName string
   4 storagePolicyID string
AzureDataDiskCachingMode = string None | ReadOnly | ReadWrite
AzureDataDiskKind = string Dedicated | Managed | Shared
`;
