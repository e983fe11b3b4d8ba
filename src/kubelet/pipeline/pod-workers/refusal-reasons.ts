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

/** Under which name a refusal is counted: a reason can hold the name of any resource, and a label must not. */
export function countedReason(reason: string): string {
  if (known.has(reason)) return reason;
  return reason.startsWith("OutOf") ? "OutOfExtendedResources" : "Other";
}
