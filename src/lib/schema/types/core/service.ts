/** In the notation of `../../notation.ts`. */
export const serviceTypes = `
kind Service
   1 metadata meta.ObjectMeta
   2 spec ServiceSpec
   3 status ServiceStatus
ServiceSpec
   1 ports []ServicePort by:port+protocol merge
   2 selector map[string]string atomic
   3 clusterIP string
   4 type ServiceType
   5 externalIPs []string
   7 sessionAffinity ServiceAffinity
   8 loadBalancerIP string
   9 loadBalancerSourceRanges []string
  10 externalName string
  11 externalTrafficPolicy ServiceExternalTrafficPolicy
  12 healthCheckNodePort int32
  13 publishNotReadyAddresses bool
  14 sessionAffinityConfig *SessionAffinityConfig
  17 ipFamilyPolicy *IPFamilyPolicy
  18 clusterIPs []string
  19 ipFamilies []IPFamily
  20 allocateLoadBalancerNodePorts *bool
  21 loadBalancerClass *string
  22 internalTrafficPolicy *ServiceInternalTrafficPolicy
  23 trafficDistribution *string
ServicePort
   1 name string
   2 protocol Protocol =TCP
   3 port! int32
   4 targetPort int-or-string
   5 nodePort int32
   6 appProtocol *string
SessionAffinityConfig
   1 clientIP *ClientIPConfig
ClientIPConfig
   1 timeoutSeconds *int32
ServiceStatus
   1 loadBalancer LoadBalancerStatus
   2 conditions []meta.Condition by:type merge
LoadBalancerStatus
   1 ingress []LoadBalancerIngress
LoadBalancerIngress
   1 ip string
   2 hostname string
   3 ipMode *LoadBalancerIPMode
   4 ports []PortStatus
PortStatus
   1 port! int32
   2 protocol! Protocol
   3 error *string
kind Endpoints
   1 metadata meta.ObjectMeta
   2 subsets []EndpointSubset
EndpointSubset
   1 addresses []EndpointAddress
   2 notReadyAddresses []EndpointAddress
   3 ports []EndpointPort
EndpointAddress atomic
   1 ip! string
   2 targetRef *ObjectReference
   3 hostname string
   4 nodeName *string
EndpointPort atomic
   1 name string
   2 port! int32
   3 protocol Protocol
   4 appProtocol *string
IPFamily = string  | IPv4 | IPv6
IPFamilyPolicy = string PreferDualStack | RequireDualStack | SingleStack
LoadBalancerIPMode = string
ServiceAffinity = string ClientIP | None
ServiceExternalTrafficPolicy = string Cluster | Local
ServiceInternalTrafficPolicy = string Cluster | Local
ServiceType = string ClusterIP | ExternalName | LoadBalancer | NodePort
`;
