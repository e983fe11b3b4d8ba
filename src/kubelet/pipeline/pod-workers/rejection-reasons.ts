const known = new Set([
  "AppArmor",
  "Evicted",
  "InitContainerRestartPolicyForbidden",
  "InvalidNodeInfo",
  "NodeShutdown",
  "OutOfcpu",
  "OutOfephemeral-storage",
  "OutOfmemory",
  "OutOfpods",
  "PodFeatureUnsupported",
  "PodLevelResourcesNotSupported",
  "PodOSNotSupported",
  "PodOSSelectorNodeLabelDoesNotMatch",
  "SupplementalGroupsPolicyNotSupported",
  "SysctlForbidden",
  "TopologyAffinityError",
  "UnexpectedAdmissionError",
  "UnexpectedPredicateFailureType",
  "UnknownReason",
  "VolumeAttachmentLimitExceeded",
]);

/** The metric label of a rejection: a reason can contain the name of any resource, and labels must be bounded. */
export function rejectionLabel(reason: string): string {
  if (known.has(reason)) return reason;
  return reason.startsWith("OutOf") ? "OutOfExtendedResources" : "Other";
}
