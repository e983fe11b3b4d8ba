/** In the notation of `../field-numbers.ts`. */
export const podNumbers = `
Affinity: nodeAffinity* podAffinity* podAntiAffinity*
ContainerExtendedResourceRequest: containerName resourceName requestName
ContainerState: waiting* running* terminated*
ContainerStateRunning: startedAt
ContainerStateTerminated: exitCode signal reason message startedAt finishedAt containerID
ContainerStateWaiting: reason message
ContainerStatus: name state lastState ready restartCount image imageID containerID started* allocatedResources
  resources* volumeMounts user* allocatedResourcesStatus stopSignal*
ContainerUser: linux*
HostAlias: ip hostnames
HostIP: ip
ImageVolumeStatus: imageRef
LinuxContainerUser: uid gid supplementalGroups
NodeAffinity: requiredDuringSchedulingIgnoredDuringExecution* preferredDuringSchedulingIgnoredDuringExecution
NodeAllocatableResourceClaimStatus: resourceClaimName containers resources
NodeSelector: nodeSelectorTerms
NodeSelectorRequirement: key operator values
NodeSelectorTerm: matchExpressions matchFields
Pod: metadata spec status
PodAffinity: requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution
PodAffinityTerm: labelSelector* namespaces topologyKey namespaceSelector* matchLabelKeys mismatchLabelKeys
PodAntiAffinity: requiredDuringSchedulingIgnoredDuringExecution
  preferredDuringSchedulingIgnoredDuringExecution
PodCondition: type status lastProbeTime lastTransitionTime reason message observedGeneration
PodDNSConfig: nameservers searches options
PodDNSConfigOption: name value*
PodExtendedResourceClaimStatus: requestMappings resourceClaimName
PodIP: ip
PodOS: name
PodReadinessGate: conditionType
PodResourceClaim: name 3:resourceClaimName* resourceClaimTemplateName*
PodResourceClaimStatus: name resourceClaimName*
PodSchedulingGate: name
PodSchedulingGroup: podGroupName*
PodSecurityContext: seLinuxOptions* runAsUser* runAsNonRoot* supplementalGroups fsGroup* runAsGroup* sysctls
  windowsOptions* fsGroupChangePolicy* seccompProfile* appArmorProfile* supplementalGroupsPolicy*
  seLinuxChangePolicy*
PodSpec: volumes containers restartPolicy terminationGracePeriodSeconds* activeDeadlineSeconds* dnsPolicy
  nodeSelector serviceAccountName serviceAccount nodeName hostNetwork hostPID hostIPC securityContext*
  imagePullSecrets hostname subdomain affinity* schedulerName initContainers automountServiceAccountToken*
  tolerations hostAliases priorityClassName priority* dnsConfig* shareProcessNamespace* readinessGates
  runtimeClassName* enableServiceLinks* preemptionPolicy* overhead topologySpreadConstraints
  ephemeralContainers setHostnameAsFQDN* os* hostUsers* schedulingGates resourceClaims resources*
  hostnameOverride* 43:schedulingGroup*
PodStatus: phase conditions message reason hostIP podIP startTime* containerStatuses qosClass
  initContainerStatuses nominatedNodeName podIPs ephemeralContainerStatuses resize resourceClaimStatuses
  hostIPs observedGeneration extendedResourceClaimStatus* allocatedResources resources*
  nodeAllocatableResourceClaimStatuses
PreferredSchedulingTerm: weight preference
ResourceHealth: resourceID health 6:message*
ResourceStatus: name resources
Sysctl: name value
Toleration: key operator value effect tolerationSeconds*
TopologySpreadConstraint: maxSkew topologyKey whenUnsatisfiable labelSelector* minDomains* nodeAffinityPolicy*
  nodeTaintsPolicy* matchLabelKeys
VolumeMountStatus: name mountPath readOnly recursiveReadOnly* volumeStatus*
VolumeStatus: image*
WeightedPodAffinityTerm: weight podAffinityTerm
`;
