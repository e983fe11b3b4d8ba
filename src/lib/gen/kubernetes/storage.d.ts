// Made by "npm run gen" from src/lib/schema/types.
import type * as core from "./core.d.ts";
import type * as meta from "./meta.d.ts";

export interface CSIDriver {
  apiVersion?: "storage.k8s.io/v1";
  kind?: "CSIDriver";
  metadata?: meta.ObjectMeta;
  spec: CSIDriverSpec;
}

export interface CSIDriverSpec {
  attachRequired?: boolean;
  podInfoOnMount?: boolean;
  volumeLifecycleModes?: string[];
  storageCapacity?: boolean;
  fsGroupPolicy?: string;
  tokenRequests?: TokenRequest[];
  requiresRepublish?: boolean;
  seLinuxMount?: boolean;
  nodeAllocatableUpdatePeriodSeconds?: number;
  serviceAccountTokenInSecrets?: boolean;
  preventPodSchedulingIfMissing?: boolean;
}

export interface TokenRequest {
  audience: string;
  expirationSeconds?: number;
}

export interface CSINode {
  apiVersion?: "storage.k8s.io/v1";
  kind?: "CSINode";
  metadata?: meta.ObjectMeta;
  spec: CSINodeSpec;
}

export interface CSINodeSpec {
  drivers: CSINodeDriver[];
}

export interface CSINodeDriver {
  name: string;
  nodeID: string;
  topologyKeys?: string[];
  allocatable?: VolumeNodeResources;
}

export interface VolumeNodeResources {
  count?: number;
}

export interface StorageClass {
  apiVersion?: "storage.k8s.io/v1";
  kind?: "StorageClass";
  metadata?: meta.ObjectMeta;
  provisioner: string;
  parameters?: { [name: string]: string };
  reclaimPolicy?: string;
  mountOptions?: string[];
  allowVolumeExpansion?: boolean;
  volumeBindingMode?: string;
  allowedTopologies?: core.TopologySelectorTerm[];
}

export interface VolumeAttachment {
  apiVersion?: "storage.k8s.io/v1";
  kind?: "VolumeAttachment";
  metadata?: meta.ObjectMeta;
  spec: VolumeAttachmentSpec;
  status?: VolumeAttachmentStatus;
}

export interface VolumeAttachmentSpec {
  attacher: string;
  source: VolumeAttachmentSource;
  nodeName: string;
}

export interface VolumeAttachmentSource {
  persistentVolumeName?: string;
  inlineVolumeSpec?: core.PersistentVolumeSpec;
}

export interface VolumeAttachmentStatus {
  attached: boolean;
  attachmentMetadata?: { [name: string]: string };
  attachError?: VolumeError;
  detachError?: VolumeError;
}

export interface VolumeError {
  time?: string;
  message?: string;
  errorCode?: number;
}
