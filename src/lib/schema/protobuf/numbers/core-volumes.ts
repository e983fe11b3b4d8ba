/** In the notation of `../field-numbers.ts`. */
export const volumeNumbers = `
AWSElasticBlockStoreVolumeSource: volumeID fsType partition readOnly
AzureDiskVolumeSource: diskName diskURI cachingMode* fsType* readOnly* kind*
AzureFilePersistentVolumeSource: secretName shareName readOnly secretNamespace*
AzureFileVolumeSource: secretName shareName readOnly
CSIPersistentVolumeSource: driver volumeHandle readOnly fsType volumeAttributes controllerPublishSecretRef*
  nodeStageSecretRef* nodePublishSecretRef* controllerExpandSecretRef* nodeExpandSecretRef*
CSIVolumeSource: driver readOnly* fsType* volumeAttributes nodePublishSecretRef*
CephFSPersistentVolumeSource: monitors path user secretFile secretRef* readOnly
CephFSVolumeSource: monitors path user secretFile secretRef* readOnly
CinderPersistentVolumeSource: volumeID fsType readOnly secretRef*
CinderVolumeSource: volumeID fsType readOnly secretRef*
ClusterTrustBundleProjection: name* signerName* labelSelector* path optional*
ConfigMapProjection: ...LocalObjectReference items 4:optional*
ConfigMapVolumeSource: ...LocalObjectReference items defaultMode* optional*
DownwardAPIProjection: items
DownwardAPIVolumeFile: path fieldRef* resourceFieldRef* mode*
DownwardAPIVolumeSource: items defaultMode*
EmptyDirVolumeSource: medium sizeLimit*
EphemeralVolumeSource: volumeClaimTemplate*
FCVolumeSource: targetWWNs lun* fsType readOnly wwids
FlexPersistentVolumeSource: driver fsType secretRef* readOnly options
FlexVolumeSource: driver fsType secretRef* readOnly options
FlockerVolumeSource: datasetName datasetUUID
GCEPersistentDiskVolumeSource: pdName fsType partition readOnly
GitRepoVolumeSource: repository revision directory
GlusterfsPersistentVolumeSource: endpoints path readOnly endpointsNamespace*
GlusterfsVolumeSource: endpoints path readOnly
HostPathVolumeSource: path type*
ISCSIPersistentVolumeSource: targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery
  10:secretRef* chapAuthSession initiatorName*
ISCSIVolumeSource: targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery 10:secretRef*
  chapAuthSession initiatorName*
ImageVolumeSource: reference pullPolicy
KeyToPath: key path mode*
LocalVolumeSource: path fsType*
ModifyVolumeStatus: targetVolumeAttributesClassName status
NFSVolumeSource: server path readOnly
PersistentVolume: metadata spec status
PersistentVolumeClaim: metadata spec status
PersistentVolumeClaimCondition: type status lastProbeTime lastTransitionTime reason message
PersistentVolumeClaimSpec: accessModes resources volumeName selector* storageClassName* volumeMode*
  dataSource* dataSourceRef* volumeAttributesClassName*
PersistentVolumeClaimStatus: phase accessModes capacity conditions allocatedResources
  7:allocatedResourceStatuses currentVolumeAttributesClassName* modifyVolumeStatus*
PersistentVolumeClaimTemplate: metadata spec
PersistentVolumeClaimVolumeSource: claimName readOnly
PersistentVolumeSource: gcePersistentDisk* awsElasticBlockStore* hostPath* glusterfs* nfs* rbd* iscsi* cinder*
  cephfs* fc* flocker* flexVolume* azureFile* vsphereVolume* quobyte* azureDisk* photonPersistentDisk*
  portworxVolume* scaleIO* local* storageos* csi*
PersistentVolumeSpec: capacity ...PersistentVolumeSource accessModes claimRef* persistentVolumeReclaimPolicy
  storageClassName mountOptions volumeMode* nodeAffinity* volumeAttributesClassName*
PersistentVolumeStatus: phase message reason lastPhaseTransitionTime*
PhotonPersistentDiskVolumeSource: pdID fsType
PodCertificateProjection: signerName keyType maxExpirationSeconds* credentialBundlePath keyPath
  certificateChainPath userAnnotations
PortworxVolumeSource: volumeID fsType readOnly
ProjectedVolumeSource: sources defaultMode*
QuobyteVolumeSource: registry volume readOnly user group tenant
RBDPersistentVolumeSource: monitors image fsType pool user keyring secretRef* readOnly
RBDVolumeSource: monitors image fsType pool user keyring secretRef* readOnly
ScaleIOPersistentVolumeSource: gateway system secretRef* sslEnabled protectionDomain storagePool storageMode
  volumeName fsType readOnly
ScaleIOVolumeSource: gateway system secretRef* sslEnabled protectionDomain storagePool storageMode volumeName
  fsType readOnly
SecretProjection: ...LocalObjectReference items 4:optional*
SecretVolumeSource: secretName items defaultMode* optional*
ServiceAccountTokenProjection: audience expirationSeconds* path
StorageOSPersistentVolumeSource: volumeName volumeNamespace fsType readOnly secretRef*
StorageOSVolumeSource: volumeName volumeNamespace fsType readOnly secretRef*
Volume: name ...VolumeSource
VolumeNodeAffinity: required*
VolumeProjection: secret* downwardAPI* configMap* serviceAccountToken* clusterTrustBundle* podCertificate*
VolumeResourceRequirements: limits requests
VolumeSource: hostPath* emptyDir* gcePersistentDisk* awsElasticBlockStore* gitRepo* secret* nfs* iscsi*
  glusterfs* persistentVolumeClaim* rbd* flexVolume* cinder* cephfs* flocker* downwardAPI* fc* azureFile*
  configMap* vsphereVolume* quobyte* azureDisk* photonPersistentDisk* portworxVolume* scaleIO* projected*
  storageos* csi* ephemeral* image*
VsphereVirtualDiskVolumeSource: volumePath fsType storagePolicyName storagePolicyID
`;
