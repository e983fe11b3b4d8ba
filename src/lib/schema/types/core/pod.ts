/** In the notation of `../../notation.ts`. */
export const podTypes = `
kind Pod
   1 metadata meta.ObjectMeta
   2 spec PodSpec
   3 status PodStatus
PodSpec
   1 volumes []Volume by:name merge retainKeys
   2 containers! []Container by:name merge
   3 restartPolicy RestartPolicy
   4 terminationGracePeriodSeconds *int64
   5 activeDeadlineSeconds *int64
   6 dnsPolicy DNSPolicy
   7 nodeSelector map[string]string atomic
   8 serviceAccountName string
   9 serviceAccount string
  10 nodeName string
  11 hostNetwork bool
  12 hostPID bool
  13 hostIPC bool
  14 securityContext *PodSecurityContext
  15 imagePullSecrets []LocalObjectReference by:name merge
  16 hostname string
  17 subdomain string
  18 affinity *Affinity
  19 schedulerName string
  20 initContainers []Container by:name merge
  21 automountServiceAccountToken *bool
  22 tolerations []Toleration
  23 hostAliases []HostAlias by:ip merge
  24 priorityClassName string
  25 priority *int32
  26 dnsConfig *PodDNSConfig
  27 shareProcessNamespace *bool
  28 readinessGates []PodReadinessGate
  29 runtimeClassName *string
  30 enableServiceLinks *bool
  31 preemptionPolicy *PreemptionPolicy
  32 overhead ResourceList
  33 topologySpreadConstraints []TopologySpreadConstraint by:topologyKey+whenUnsatisfiable merge
  34 ephemeralContainers []EphemeralContainer by:name merge
  35 setHostnameAsFQDN *bool
  36 os *PodOS
  37 hostUsers *bool
  38 schedulingGates []PodSchedulingGate by:name merge
  39 resourceClaims []PodResourceClaim by:name merge retainKeys
  40 resources *ResourceRequirements
  41 hostnameOverride *string
  43 schedulingGroup *PodSchedulingGroup
PodDNSConfig
   1 nameservers []string
   2 searches []string
   3 options []PodDNSConfigOption
PodDNSConfigOption
   1 name string
   2 value *string
HostAlias
   1 ip! string
   2 hostnames []string
PodOS
   1 name! OSName
PodReadinessGate
   1 conditionType! PodConditionType
PodSchedulingGate
   1 name! string
PodSchedulingGroup
   1 podGroupName *string
PodResourceClaim
   1 name! string
   3 resourceClaimName *string
   4 resourceClaimTemplateName *string
Affinity
   1 nodeAffinity *NodeAffinity
   2 podAffinity *PodAffinity
   3 podAntiAffinity *PodAntiAffinity
NodeAffinity
   1 requiredDuringSchedulingIgnoredDuringExecution *NodeSelector
   2 preferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm
NodeSelector atomic
   1 nodeSelectorTerms! []NodeSelectorTerm
NodeSelectorTerm atomic
   1 matchExpressions []NodeSelectorRequirement
   2 matchFields []NodeSelectorRequirement
NodeSelectorRequirement
   1 key! string
   2 operator! NodeSelectorOperator
   3 values []string
PreferredSchedulingTerm
   1 weight! int32
   2 preference! NodeSelectorTerm
PodAffinity
   1 requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm
   2 preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm
PodAntiAffinity
   1 requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm
   2 preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm
PodAffinityTerm
   1 labelSelector *meta.LabelSelector
   2 namespaces []string
   3 topologyKey! string
   4 namespaceSelector *meta.LabelSelector
   5 matchLabelKeys []string
   6 mismatchLabelKeys []string
WeightedPodAffinityTerm
   1 weight! int32
   2 podAffinityTerm! PodAffinityTerm
Toleration
   1 key string
   2 operator TolerationOperator
   3 value string
   4 effect TaintEffect
   5 tolerationSeconds *int64
TopologySpreadConstraint
   1 maxSkew! int32
   2 topologyKey! string
   3 whenUnsatisfiable! UnsatisfiableConstraintAction
   4 labelSelector *meta.LabelSelector
   5 minDomains *int32
   6 nodeAffinityPolicy *NodeInclusionPolicy
   7 nodeTaintsPolicy *NodeInclusionPolicy
   8 matchLabelKeys []string
ResourceList = map[string]quantity
DNSPolicy = string ClusterFirst | ClusterFirstWithHostNet | Default | None
NodeInclusionPolicy = string Honor | Ignore
NodeSelectorOperator = string DoesNotExist | Exists | Gt | In | Lt | NotIn
OSName = string
PodConditionType = string
PreemptionPolicy = string Never | PreemptLowerPriority
RestartPolicy = string Always | Never | OnFailure
TaintEffect = string NoExecute | NoSchedule | PreferNoSchedule
TolerationOperator = string Equal | Exists | Gt | Lt
UnsatisfiableConstraintAction = string DoNotSchedule | ScheduleAnyway
`;
