import { TypePackage } from "../type-package.ts";
import { core } from "./core/core.ts";
import { meta } from "./meta.ts";

/** In the notation of `../notation.ts`. */
const text = `
kind CSIDriver
   1 metadata meta.ObjectMeta
   2 spec! CSIDriverSpec
CSIDriverSpec
   1 attachRequired *bool
   2 podInfoOnMount *bool
   3 volumeLifecycleModes []VolumeLifecycleMode set
   4 storageCapacity *bool
   5 fsGroupPolicy *FSGroupPolicy
   6 tokenRequests []TokenRequest
   7 requiresRepublish *bool
   8 seLinuxMount *bool
   9 nodeAllocatableUpdatePeriodSeconds *int64
  10 serviceAccountTokenInSecrets *bool
  11 preventPodSchedulingIfMissing *bool
TokenRequest
   1 audience! string
   2 expirationSeconds *int64
kind CSINode
   1 metadata meta.ObjectMeta
   2 spec! CSINodeSpec
CSINodeSpec
   1 drivers! []CSINodeDriver by:name merge
CSINodeDriver
   1 name! string
   2 nodeID! string
   3 topologyKeys []string
   4 allocatable *VolumeNodeResources
VolumeNodeResources
   1 count *int32
kind StorageClass
   1 metadata meta.ObjectMeta
   2 provisioner! string
   3 parameters map[string]string
   4 reclaimPolicy *core.PersistentVolumeReclaimPolicy
   5 mountOptions []string
   6 allowVolumeExpansion *bool
   7 volumeBindingMode *VolumeBindingMode
   8 allowedTopologies []core.TopologySelectorTerm
kind VolumeAttachment
   1 metadata meta.ObjectMeta
   2 spec! VolumeAttachmentSpec
   3 status VolumeAttachmentStatus
VolumeAttachmentSpec
   1 attacher! string
   2 source! VolumeAttachmentSource
   3 nodeName! string
VolumeAttachmentSource
   1 persistentVolumeName *string
   2 inlineVolumeSpec *core.PersistentVolumeSpec
VolumeAttachmentStatus
   1 attached! bool
   2 attachmentMetadata map[string]string
   3 attachError *VolumeError
   4 detachError *VolumeError
VolumeError
   1 time time
   2 message string
   3 errorCode *int32
FSGroupPolicy = string
VolumeBindingMode = string Immediate | WaitForFirstConsumer
VolumeLifecycleMode = string
`;

export const storage = new TypePackage({
  name: "storage",
  group: "storage.k8s.io",
  version: "v1",
  uses: [core, meta],
  text,
});
