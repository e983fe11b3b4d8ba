/** In the notation of `../field-numbers.ts`. */
export const storageNumbers = `
CSIDriver: metadata spec
CSIDriverSpec: attachRequired* podInfoOnMount* volumeLifecycleModes storageCapacity* fsGroupPolicy*
  tokenRequests requiresRepublish* seLinuxMount* nodeAllocatableUpdatePeriodSeconds*
  serviceAccountTokenInSecrets* preventPodSchedulingIfMissing*
CSINode: metadata spec
CSINodeDriver: name nodeID topologyKeys allocatable*
CSINodeSpec: drivers
StorageClass: metadata provisioner parameters reclaimPolicy* mountOptions allowVolumeExpansion*
  volumeBindingMode* allowedTopologies
TokenRequest: audience expirationSeconds*
VolumeAttachment: metadata spec status
VolumeAttachmentSource: persistentVolumeName* inlineVolumeSpec*
VolumeAttachmentSpec: attacher source nodeName
VolumeAttachmentStatus: attached attachmentMetadata attachError* detachError*
VolumeError: time message errorCode*
VolumeNodeResources: count*
`;
