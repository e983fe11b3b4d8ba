/** In the notation of `../type-notation.ts`. */
export const otherCoreTypes = `
AttachedVolume: devicePath! string, name! UniqueVolumeName
kind Binding: metadata meta.ObjectMeta, target! ObjectReference
ClientIPConfig: timeoutSeconds int32
kind ConfigMap: binaryData map bytes, data map string, immutable bool, metadata meta.ObjectMeta
ConfigMapNodeConfigSource: kubeletConfigKey! string, name! string, namespace! string,
  resourceVersion string, uid types.UID
ContainerImage: names []string, sizeBytes int64
DaemonEndpoint: Port! int32
EndpointAddress atomic: hostname string, ip! string, nodeName string, targetRef ObjectReference
EndpointPort atomic: appProtocol string, name string, port! int32, protocol Protocol
EndpointSubset: addresses []EndpointAddress, notReadyAddresses []EndpointAddress, ports []EndpointPort
kind Endpoints: metadata meta.ObjectMeta, subsets []EndpointSubset
kind Event: action string, count int32, eventTime microtime, firstTimestamp time,
  involvedObject! ObjectReference, lastTimestamp time, message string, metadata! meta.ObjectMeta,
  reason string, related ObjectReference, reportingComponent string =, reportingInstance string =,
  series EventSeries, source EventSource, type string
EventSeries: count int32, lastObservedTime microtime
EventSource: component string, host string
LoadBalancerIngress: hostname string, ip string, ipMode LoadBalancerIPMode, ports []PortStatus
LoadBalancerStatus: ingress []LoadBalancerIngress
LocalObjectReference atomic: name string =
kind Namespace: metadata meta.ObjectMeta, spec NamespaceSpec, status NamespaceStatus
NamespaceCondition: lastTransitionTime time, message string, reason string, status! ConditionStatus,
  type! NamespaceConditionType
NamespaceSpec: finalizers []FinalizerName
NamespaceStatus: conditions []NamespaceCondition by:type merge, phase NamespacePhase
kind Node: metadata meta.ObjectMeta, spec NodeSpec, status NodeStatus
NodeAddress: address! string, type! NodeAddressType
NodeCondition: lastHeartbeatTime time, lastTransitionTime time, message string, reason string,
  status! ConditionStatus, type! NodeConditionType
NodeConfigSource: configMap ConfigMapNodeConfigSource
NodeConfigStatus: active NodeConfigSource, assigned NodeConfigSource, error string,
  lastKnownGood NodeConfigSource
NodeDaemonEndpoints: kubeletEndpoint DaemonEndpoint
NodeFeatures: supplementalGroupsPolicy bool
NodeRuntimeHandler: features NodeRuntimeHandlerFeatures, name string =
NodeRuntimeHandlerFeatures: recursiveReadOnlyMounts bool, userNamespaces bool
NodeSpec: configSource NodeConfigSource, externalID string, podCIDR string, podCIDRs []string set merge,
  providerID string, taints []Taint, unschedulable bool
NodeStatus: addresses []NodeAddress by:type merge, allocatable ResourceList, capacity ResourceList,
  conditions []NodeCondition by:type merge, config NodeConfigStatus, daemonEndpoints NodeDaemonEndpoints,
  declaredFeatures []string, features NodeFeatures, images []ContainerImage, nodeInfo NodeSystemInfo,
  phase NodePhase, runtimeHandlers []NodeRuntimeHandler, volumesAttached []AttachedVolume,
  volumesInUse []UniqueVolumeName
NodeSwapStatus: capacity int64
NodeSystemInfo: architecture! string, bootID! string, containerRuntimeVersion! string,
  kernelVersion! string, kubeProxyVersion! string, kubeletVersion! string, machineID! string,
  operatingSystem! string, osImage! string, swap NodeSwapStatus, systemUUID! string
ObjectReference atomic: apiVersion string, fieldPath string, kind string, name string, namespace string,
  resourceVersion string, uid types.UID
PortStatus: error string, port! int32, protocol! Protocol
kind Secret: data map bytes, immutable bool, metadata meta.ObjectMeta, stringData map string,
  type SecretType
SecretReference atomic: name string, namespace string
kind Service: metadata meta.ObjectMeta, spec ServiceSpec, status ServiceStatus
kind ServiceAccount: automountServiceAccountToken bool, imagePullSecrets []LocalObjectReference,
  metadata meta.ObjectMeta, secrets []ObjectReference by:name merge
ServicePort: appProtocol string, name string, nodePort int32, port! int32, protocol Protocol =TCP,
  targetPort int-or-string
ServiceSpec: allocateLoadBalancerNodePorts bool, clusterIP string, clusterIPs []string,
  externalIPs []string, externalName string, externalTrafficPolicy ServiceExternalTrafficPolicy,
  healthCheckNodePort int32, internalTrafficPolicy ServiceInternalTrafficPolicy, ipFamilies []IPFamily,
  ipFamilyPolicy IPFamilyPolicy, loadBalancerClass string, loadBalancerIP string,
  loadBalancerSourceRanges []string, ports []ServicePort by:port+protocol merge,
  publishNotReadyAddresses bool, selector map string atomic, sessionAffinity ServiceAffinity,
  sessionAffinityConfig SessionAffinityConfig, trafficDistribution string, type ServiceType
ServiceStatus: conditions []meta.Condition by:type merge, loadBalancer LoadBalancerStatus
SessionAffinityConfig: clientIP ClientIPConfig
Taint: effect! TaintEffect, key! string, timeAdded time, value string
TopologySelectorLabelRequirement: key! string, values! []string
TopologySelectorTerm atomic: matchLabelExpressions []TopologySelectorLabelRequirement
TypedLocalObjectReference atomic: apiGroup string, kind! string, name! string
TypedObjectReference: apiGroup string, kind! string, name! string, namespace string
FinalizerName = string
IPFamily = string  | IPv4 | IPv6
IPFamilyPolicy = string PreferDualStack | RequireDualStack | SingleStack
LoadBalancerIPMode = string
NamespaceConditionType = string
NamespacePhase = string Active | Terminating
NodeAddressType = string
NodeConditionType = string
NodePhase = string Pending | Running | Terminated
SecretType = string
ServiceAffinity = string ClientIP | None
ServiceExternalTrafficPolicy = string Cluster | Local
ServiceInternalTrafficPolicy = string Cluster | Local
ServiceType = string ClusterIP | ExternalName | LoadBalancer | NodePort
UniqueVolumeName = string
`;
