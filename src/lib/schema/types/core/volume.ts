/** In the notation of `../../notation.ts`. */
export const volumeTypes = `
Volume
   1 name! string
   2 ...VolumeSource
VolumeSource
   1 hostPath *HostPathVolumeSource
   2 emptyDir *EmptyDirVolumeSource
   3 gcePersistentDisk *GCEPersistentDiskVolumeSource
   4 awsElasticBlockStore *AWSElasticBlockStoreVolumeSource
   5 gitRepo *GitRepoVolumeSource
   6 secret *SecretVolumeSource
   7 nfs *NFSVolumeSource
   8 iscsi *ISCSIVolumeSource
   9 glusterfs *GlusterfsVolumeSource
  10 persistentVolumeClaim *PersistentVolumeClaimVolumeSource
  11 rbd *RBDVolumeSource
  12 flexVolume *FlexVolumeSource
  13 cinder *CinderVolumeSource
  14 cephfs *CephFSVolumeSource
  15 flocker *FlockerVolumeSource
  16 downwardAPI *DownwardAPIVolumeSource
  17 fc *FCVolumeSource
  18 azureFile *AzureFileVolumeSource
  19 configMap *ConfigMapVolumeSource
  20 vsphereVolume *VsphereVirtualDiskVolumeSource
  21 quobyte *QuobyteVolumeSource
  22 azureDisk *AzureDiskVolumeSource
  23 photonPersistentDisk *PhotonPersistentDiskVolumeSource
  24 portworxVolume *PortworxVolumeSource
  25 scaleIO *ScaleIOVolumeSource
  26 projected *ProjectedVolumeSource
  27 storageos *StorageOSVolumeSource
  28 csi *CSIVolumeSource
  29 ephemeral *EphemeralVolumeSource
  30 image *ImageVolumeSource
HostPathVolumeSource
   1 path! string
   2 type *HostPathType
EmptyDirVolumeSource
   1 medium StorageMedium
   2 sizeLimit *quantity
ConfigMapVolumeSource
   1 ...LocalObjectReference
   2 items []KeyToPath
   3 defaultMode *int32
   4 optional *bool
SecretVolumeSource
   1 secretName string
   2 items []KeyToPath
   3 defaultMode *int32
   4 optional *bool
KeyToPath
   1 key! string
   2 path! string
   3 mode *int32
DownwardAPIVolumeSource
   1 items []DownwardAPIVolumeFile
   2 defaultMode *int32
DownwardAPIVolumeFile
   1 path! string
   2 fieldRef *ObjectFieldSelector
   3 resourceFieldRef *ResourceFieldSelector
   4 mode *int32
ProjectedVolumeSource
   1 sources []VolumeProjection
   2 defaultMode *int32
VolumeProjection
   1 secret *SecretProjection
   2 downwardAPI *DownwardAPIProjection
   3 configMap *ConfigMapProjection
   4 serviceAccountToken *ServiceAccountTokenProjection
   5 clusterTrustBundle *ClusterTrustBundleProjection
   6 podCertificate *PodCertificateProjection
SecretProjection
   1 ...LocalObjectReference
   2 items []KeyToPath
   4 optional *bool
ConfigMapProjection
   1 ...LocalObjectReference
   2 items []KeyToPath
   4 optional *bool
DownwardAPIProjection
   1 items []DownwardAPIVolumeFile
ServiceAccountTokenProjection
   1 audience string
   2 expirationSeconds *int64
   3 path! string
ClusterTrustBundleProjection
   1 name *string
   2 signerName *string
   3 labelSelector *meta.LabelSelector
   4 path! string
   5 optional *bool
PodCertificateProjection
   1 signerName! string
   2 keyType! string
   3 maxExpirationSeconds *int32
   4 credentialBundlePath string
   5 keyPath string
   6 certificateChainPath string
   7 userAnnotations map[string]string
PersistentVolumeClaimVolumeSource
   1 claimName! string
   2 readOnly bool
EphemeralVolumeSource
   1 volumeClaimTemplate *PersistentVolumeClaimTemplate
CSIVolumeSource
   1 driver! string
   2 readOnly *bool
   3 fsType *string
   4 volumeAttributes map[string]string
   5 nodePublishSecretRef *LocalObjectReference
ImageVolumeSource
   1 reference string
   2 pullPolicy PullPolicy
NFSVolumeSource
   1 server! string
   2 path! string
   3 readOnly bool
ISCSIVolumeSource
   1 targetPortal! string
   2 iqn! string
   3 lun! int32
   4 iscsiInterface string =default
   5 fsType string
   6 readOnly bool
   7 portals []string
   8 chapAuthDiscovery bool
  10 secretRef *LocalObjectReference
  11 chapAuthSession bool
  12 initiatorName *string
FCVolumeSource
   1 targetWWNs []string
   2 lun *int32
   3 fsType string
   4 readOnly bool
   5 wwids []string
FlexVolumeSource
   1 driver! string
   2 fsType string
   3 secretRef *LocalObjectReference
   4 readOnly bool
   5 options map[string]string
GitRepoVolumeSource
   1 repository! string
   2 revision string
   3 directory string
HostPathType = string  | BlockDevice | CharDevice | Directory | DirectoryOrCreate | File | FileOrCreate |
  Socket
StorageMedium = string
`;
