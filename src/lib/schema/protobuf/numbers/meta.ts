/** In the notation of `../field-numbers.ts`. */
export const metaNumbers = `
Condition: type status observedGeneration lastTransitionTime reason message
DeleteOptions: gracePeriodSeconds* preconditions* orphanDependents* propagationPolicy* dryRun
  ignoreStoreReadErrorWithClusterBreakingPotential*
FieldSelectorRequirement: key operator values
LabelSelector: matchLabels matchExpressions
LabelSelectorRequirement: key operator values
ListMeta: selfLink resourceVersion continue remainingItemCount* shardInfo*
ManagedFieldsEntry: manager operation apiVersion time* 6:fieldsType fieldsV1* subresource
ObjectMeta: name generateName namespace selfLink uid resourceVersion generation creationTimestamp
  deletionTimestamp* deletionGracePeriodSeconds* labels annotations ownerReferences finalizers
  17:managedFields
OwnerReference: kind 3:name uid apiVersion controller* blockOwnerDeletion*
PartialObjectMetadata: metadata
Preconditions: uid* resourceVersion*
ShardInfo: selector
Status: metadata status message reason details* code
StatusCause: reason message field
StatusDetails: name group kind causes retryAfterSeconds uid
`;
