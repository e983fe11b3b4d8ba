import { TypePackage } from "../type-package.ts";

/** In the notation of `../notation.ts`. */
const text = `
kind DeleteOptions
   1 gracePeriodSeconds *int64
   2 preconditions *Preconditions
   3 orphanDependents *bool
   4 propagationPolicy *DeletionPropagation
   5 dryRun []string
   6 ignoreStoreReadErrorWithClusterBreakingPotential *bool
Preconditions
   1 uid *types.UID
   2 resourceVersion *string
kind PartialObjectMetadata
   1 metadata ObjectMeta
ObjectMeta
   1 name string
   2 generateName string
   3 namespace string
   4 selfLink string
   5 uid types.UID
   6 resourceVersion string
   7 generation int64
   8 creationTimestamp time
   9 deletionTimestamp *time
  10 deletionGracePeriodSeconds *int64
  11 labels map[string]string
  12 annotations map[string]string
  13 ownerReferences []OwnerReference by:uid merge
  14 finalizers []string set merge
  17 managedFields []ManagedFieldsEntry
ManagedFieldsEntry
   1 manager string
   2 operation ManagedFieldsOperationType
   3 apiVersion string
   4 time *time
   6 fieldsType string
   7 fieldsV1 *any
   8 subresource string
OwnerReference atomic
   1 kind! string
   3 name! string
   4 uid! types.UID
   5 apiVersion! string
   6 controller *bool
   7 blockOwnerDeletion *bool
kind Status
   1 metadata ListMeta
   2 status string
   3 message string
   4 reason StatusReason
   5 details *StatusDetails
   6 code int32
StatusDetails
   1 name string
   2 group string
   3 kind string
   4 causes []StatusCause
   5 retryAfterSeconds int32
   6 uid types.UID
StatusCause
   1 reason CauseType
   2 message string
   3 field string
ListMeta
   1 selfLink string
   2 resourceVersion string
   3 continue string
   4 remainingItemCount *int64
   5 shardInfo *ShardInfo
ShardInfo
   1 selector! string
Condition
   1 type! string
   2 status! ConditionStatus
   3 observedGeneration int64
   4 lastTransitionTime! time
   5 reason! string
   6 message! string
FieldSelectorRequirement
   1 key! string
   2 operator! FieldSelectorOperator
   3 values []string
LabelSelector atomic
   1 matchLabels map[string]string
   2 matchExpressions []LabelSelectorRequirement
LabelSelectorRequirement
   1 key! string
   2 operator! LabelSelectorOperator
   3 values []string
WatchEvent
   1 type! string
   2 object! any
CauseType = string
ConditionStatus = string
DeletionPropagation = string
FieldSelectorOperator = string
LabelSelectorOperator = string
ManagedFieldsOperationType = string
StatusReason = string
`;

/** Its kinds belong to every group, so it has none of its own. */
export const meta = new TypePackage({
  name: "meta",
  group: "meta.k8s.io",
  version: "v1",
  schemaPrefix: "io.k8s.apimachinery.pkg.apis.meta.v1",
  text,
});
