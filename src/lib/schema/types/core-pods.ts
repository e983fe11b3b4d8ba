/** In the notation of `../type-notation.ts`. */
export const podTypes = `
Affinity: nodeAffinity NodeAffinity, podAffinity PodAffinity, podAntiAffinity PodAntiAffinity
ContainerExtendedResourceRequest: containerName! string, requestName! string, resourceName! string
ContainerState: running ContainerStateRunning, terminated ContainerStateTerminated,
  waiting ContainerStateWaiting
ContainerStateRunning: startedAt time
ContainerStateTerminated: containerID string, exitCode! int32, finishedAt time, message string,
  reason string, signal int32, startedAt time
ContainerStateWaiting: message string, reason string
ContainerStatus: allocatedResources ResourceList, allocatedResourcesStatus []ResourceStatus by:name merge,
  containerID string, image! string, imageID! string, lastState ContainerState, name! string, ready! bool,
  resources ResourceRequirements, restartCount! int32, started bool, state ContainerState,
  stopSignal Signal, user ContainerUser, volumeMounts []VolumeMountStatus by:mountPath merge
ContainerUser: linux LinuxContainerUser
HostAlias: hostnames []string, ip! string
HostIP: ip! string
ImageVolumeStatus: imageRef! string
LinuxContainerUser: gid! int64, supplementalGroups []int64, uid! int64
NodeAffinity: preferredDuringSchedulingIgnoredDuringExecution []PreferredSchedulingTerm,
  requiredDuringSchedulingIgnoredDuringExecution NodeSelector
NodeAllocatableResourceClaimStatus: containers []string set, resourceClaimName! string,
  resources! map quantity
NodeSelector atomic: nodeSelectorTerms! []NodeSelectorTerm
NodeSelectorRequirement: key! string, operator! NodeSelectorOperator, values []string
NodeSelectorTerm atomic: matchExpressions []NodeSelectorRequirement, matchFields []NodeSelectorRequirement
kind Pod: metadata meta.ObjectMeta, spec PodSpec, status PodStatus
PodAffinity: preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm,
  requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm
PodAffinityTerm: labelSelector meta.LabelSelector, matchLabelKeys []string, mismatchLabelKeys []string,
  namespaceSelector meta.LabelSelector, namespaces []string, topologyKey! string
PodAntiAffinity: preferredDuringSchedulingIgnoredDuringExecution []WeightedPodAffinityTerm,
  requiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm
PodCondition: lastProbeTime time, lastTransitionTime time, message string, observedGeneration int64,
  reason string, status! ConditionStatus, type! PodConditionType
PodDNSConfig: nameservers []string, options []PodDNSConfigOption, searches []string
PodDNSConfigOption: name string, value string
PodExtendedResourceClaimStatus: requestMappings! []ContainerExtendedResourceRequest,
  resourceClaimName! string
PodIP: ip! string
PodOS: name! OSName
PodReadinessGate: conditionType! PodConditionType
PodResourceClaim: name! string, resourceClaimName string, resourceClaimTemplateName string
PodResourceClaimStatus: name! string, resourceClaimName string
PodSchedulingGate: name! string
PodSchedulingGroup: podGroupName string
PodSecurityContext: appArmorProfile AppArmorProfile, fsGroup int64,
  fsGroupChangePolicy PodFSGroupChangePolicy, runAsGroup int64, runAsNonRoot bool, runAsUser int64,
  seLinuxChangePolicy PodSELinuxChangePolicy, seLinuxOptions SELinuxOptions, seccompProfile SeccompProfile,
  supplementalGroups []int64, supplementalGroupsPolicy SupplementalGroupsPolicy, sysctls []Sysctl,
  windowsOptions WindowsSecurityContextOptions
PodSpec: activeDeadlineSeconds int64, affinity Affinity, automountServiceAccountToken bool,
  containers! []Container by:name merge, dnsConfig PodDNSConfig, dnsPolicy DNSPolicy,
  enableServiceLinks bool, ephemeralContainers []EphemeralContainer by:name merge,
  hostAliases []HostAlias by:ip merge, hostIPC bool, hostNetwork bool, hostPID bool, hostUsers bool,
  hostname string, hostnameOverride string, imagePullSecrets []LocalObjectReference by:name merge,
  initContainers []Container by:name merge, nodeName string, nodeSelector map string atomic, os PodOS,
  overhead ResourceList, preemptionPolicy PreemptionPolicy, priority int32, priorityClassName string,
  readinessGates []PodReadinessGate, resourceClaims []PodResourceClaim by:name merge retainKeys,
  resources ResourceRequirements, restartPolicy RestartPolicy, runtimeClassName string,
  schedulerName string, schedulingGates []PodSchedulingGate by:name merge,
  schedulingGroup PodSchedulingGroup, securityContext PodSecurityContext, serviceAccount string,
  serviceAccountName string, setHostnameAsFQDN bool, shareProcessNamespace bool, subdomain string,
  terminationGracePeriodSeconds int64, tolerations []Toleration,
  topologySpreadConstraints []TopologySpreadConstraint by:topologyKey+whenUnsatisfiable merge,
  volumes []Volume by:name merge retainKeys
PodStatus: allocatedResources ResourceList, conditions []PodCondition by:type merge,
  containerStatuses []ContainerStatus, ephemeralContainerStatuses []ContainerStatus,
  extendedResourceClaimStatus PodExtendedResourceClaimStatus, hostIP string, hostIPs []HostIP merge:ip,
  initContainerStatuses []ContainerStatus, message string,
  nodeAllocatableResourceClaimStatuses []NodeAllocatableResourceClaimStatus, nominatedNodeName string,
  observedGeneration int64, phase PodPhase, podIP string, podIPs []PodIP by:ip merge, qosClass PodQOSClass,
  reason string, resize PodResizeStatus,
  resourceClaimStatuses []PodResourceClaimStatus by:name merge retainKeys, resources ResourceRequirements,
  startTime time
PreferredSchedulingTerm: preference! NodeSelectorTerm, weight! int32
ResourceHealth: health ResourceHealthStatus, message string, resourceID! ResourceID
ResourceStatus: name! ResourceName, resources []ResourceHealth by:resourceID
Sysctl: name! string, value! string
Toleration: effect TaintEffect, key string, operator TolerationOperator, tolerationSeconds int64,
  value string
TopologySpreadConstraint: labelSelector meta.LabelSelector, matchLabelKeys []string, maxSkew! int32,
  minDomains int32, nodeAffinityPolicy NodeInclusionPolicy, nodeTaintsPolicy NodeInclusionPolicy,
  topologyKey! string, whenUnsatisfiable! UnsatisfiableConstraintAction
VolumeMountStatus: mountPath! string, name! string, readOnly bool, recursiveReadOnly RecursiveReadOnlyMode,
  volumeStatus VolumeStatus
VolumeStatus: image ImageVolumeStatus
WeightedPodAffinityTerm: podAffinityTerm! PodAffinityTerm, weight! int32
ConditionStatus = string
DNSPolicy = string ClusterFirst | ClusterFirstWithHostNet | Default | None
NodeInclusionPolicy = string Honor | Ignore
NodeSelectorOperator = string DoesNotExist | Exists | Gt | In | Lt | NotIn
OSName = string
PodConditionType = string
PodFSGroupChangePolicy = string Always | OnRootMismatch
PodPhase = string Failed | Pending | Running | Succeeded | Unknown
PodQOSClass = string BestEffort | Burstable | Guaranteed
PodResizeStatus = string
PodSELinuxChangePolicy = string
PreemptionPolicy = string Never | PreemptLowerPriority
ResourceHealthStatus = string
ResourceID = string
RestartPolicy = string Always | Never | OnFailure
SupplementalGroupsPolicy = string Merge | Strict
TaintEffect = string NoExecute | NoSchedule | PreferNoSchedule
TolerationOperator = string Equal | Exists | Gt | Lt
UnsatisfiableConstraintAction = string DoNotSchedule | ScheduleAnyway
`;
