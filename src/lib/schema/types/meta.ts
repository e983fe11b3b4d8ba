/** In the notation of `../type-notation.ts`. */
export const metaTypes = `
Condition: lastTransitionTime! time, message! string, observedGeneration int64, reason! string,
  status! ConditionStatus, type! string
kind DeleteOptions: dryRun []string, gracePeriodSeconds int64,
  ignoreStoreReadErrorWithClusterBreakingPotential bool, orphanDependents bool, preconditions Preconditions,
  propagationPolicy DeletionPropagation
FieldSelectorRequirement: key! string, operator! FieldSelectorOperator, values []string
LabelSelector atomic: matchExpressions []LabelSelectorRequirement, matchLabels map string
LabelSelectorRequirement: key! string, operator! LabelSelectorOperator, values []string
ListMeta: continue string, remainingItemCount int64, resourceVersion string, selfLink string,
  shardInfo ShardInfo
ManagedFieldsEntry: apiVersion string, fieldsType string, fieldsV1 any, manager string,
  operation ManagedFieldsOperationType, subresource string, time time
ObjectMeta: annotations map string, creationTimestamp time, deletionGracePeriodSeconds int64,
  deletionTimestamp time, finalizers []string set merge, generateName string, generation int64,
  labels map string, managedFields []ManagedFieldsEntry, name string, namespace string,
  ownerReferences []OwnerReference by:uid merge, resourceVersion string, selfLink string, uid types.UID
OwnerReference atomic: apiVersion! string, blockOwnerDeletion bool, controller bool, kind! string,
  name! string, uid! types.UID
Preconditions: resourceVersion string, uid types.UID
kind PartialObjectMetadata: metadata ObjectMeta
ShardInfo: selector! string
kind Status: code int32, details StatusDetails, message string, metadata ListMeta, reason StatusReason,
  status string
StatusCause: field string, message string, reason CauseType
StatusDetails: causes []StatusCause, group string, kind string, name string, retryAfterSeconds int32,
  uid types.UID
WatchEvent: object! any, type! string
CauseType = string
ConditionStatus = string
DeletionPropagation = string
FieldSelectorOperator = string
LabelSelectorOperator = string
ManagedFieldsOperationType = string
StatusReason = string
`;
