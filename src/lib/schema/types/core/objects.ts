/** In the notation of `../../notation.ts`. */
export const objectTypes = `
kind Namespace
   1 metadata meta.ObjectMeta
   2 spec NamespaceSpec
   3 status NamespaceStatus
NamespaceSpec
   1 finalizers []FinalizerName
NamespaceStatus
   1 phase NamespacePhase
   2 conditions []NamespaceCondition by:type merge
NamespaceCondition
   1 type! NamespaceConditionType
   2 status! ConditionStatus
   4 lastTransitionTime time
   5 reason string
   6 message string
kind ConfigMap
   1 metadata meta.ObjectMeta
   2 data map[string]string
   3 binaryData map[string]bytes
   4 immutable *bool
kind Secret
   1 metadata meta.ObjectMeta
   2 data map[string]bytes
   3 type SecretType
   4 stringData map[string]string
   5 immutable *bool
kind ServiceAccount
   1 metadata meta.ObjectMeta
   2 secrets []ObjectReference by:name merge
   3 imagePullSecrets []LocalObjectReference
   4 automountServiceAccountToken *bool
kind Event
   1 metadata! meta.ObjectMeta
   2 involvedObject! ObjectReference
   3 reason string
   4 message string
   5 source EventSource
   6 firstTimestamp time
   7 lastTimestamp time
   8 count int32
   9 type string
  10 eventTime microtime
  11 series *EventSeries
  12 action string
  13 related *ObjectReference
  14 reportingComponent string = kept
  15 reportingInstance string = kept
EventSeries
   1 count int32
   2 lastObservedTime microtime
EventSource
   1 component string
   2 host string
kind Binding
   1 metadata meta.ObjectMeta
   2 target! ObjectReference
ObjectReference atomic
   1 kind string
   2 namespace string
   3 name string
   4 uid types.UID
   5 apiVersion string
   6 resourceVersion string
   7 fieldPath string
LocalObjectReference atomic
   1 name string =
SecretReference atomic
   1 name string
   2 namespace string
TypedLocalObjectReference atomic
   1 apiGroup *string
   2 kind! string
   3 name! string
TypedObjectReference
   1 apiGroup *string
   2 kind! string
   3 name! string
   4 namespace *string
TopologySelectorTerm atomic
   1 matchLabelExpressions []TopologySelectorLabelRequirement
TopologySelectorLabelRequirement
   1 key! string
   2 values! []string
FinalizerName = string
NamespaceConditionType = string
NamespacePhase = string Active | Terminating
SecretType = string
`;
