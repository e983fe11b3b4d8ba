/** In the notation of `../type-notation.ts`. */
export const storageTypes = `
kind CSIDriver: metadata meta.ObjectMeta, spec! CSIDriverSpec
CSIDriverSpec: attachRequired bool, fsGroupPolicy FSGroupPolicy, nodeAllocatableUpdatePeriodSeconds int64,
  podInfoOnMount bool, preventPodSchedulingIfMissing bool, requiresRepublish bool, seLinuxMount bool,
  serviceAccountTokenInSecrets bool, storageCapacity bool, tokenRequests []TokenRequest,
  volumeLifecycleModes []VolumeLifecycleMode set
kind CSINode: metadata meta.ObjectMeta, spec! CSINodeSpec
CSINodeDriver: allocatable VolumeNodeResources, name! string, nodeID! string, topologyKeys []string
CSINodeSpec: drivers! []CSINodeDriver by:name merge
kind StorageClass: allowVolumeExpansion bool, allowedTopologies []core.TopologySelectorTerm,
  metadata meta.ObjectMeta, mountOptions []string, parameters map string, provisioner! string,
  reclaimPolicy core.PersistentVolumeReclaimPolicy, volumeBindingMode VolumeBindingMode
TokenRequest: audience! string, expirationSeconds int64
kind VolumeAttachment: metadata meta.ObjectMeta, spec! VolumeAttachmentSpec, status VolumeAttachmentStatus
VolumeAttachmentSource: inlineVolumeSpec core.PersistentVolumeSpec, persistentVolumeName string
VolumeAttachmentSpec: attacher! string, nodeName! string, source! VolumeAttachmentSource
VolumeAttachmentStatus: attachError VolumeError, attached! bool, attachmentMetadata map string,
  detachError VolumeError
VolumeError: errorCode int32, message string, time time
VolumeNodeResources: count int32
FSGroupPolicy = string
VolumeBindingMode = string Immediate | WaitForFirstConsumer
VolumeLifecycleMode = string
`;
