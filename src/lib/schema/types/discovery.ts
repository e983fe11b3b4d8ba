/** In the notation of `../type-notation.ts`. */
export const discoveryTypes = `
Endpoint: addresses! []string set, conditions EndpointConditions, deprecatedTopology map string,
  hints EndpointHints, hostname string, nodeName string, targetRef core.ObjectReference, zone string
EndpointConditions: ready bool, serving bool, terminating bool
EndpointHints: forNodes []ForNode, forZones []ForZone
EndpointPort atomic: appProtocol string, name string, port int32, protocol core.Protocol
kind EndpointSlice: addressType! AddressType, endpoints []Endpoint, metadata meta.ObjectMeta,
  ports []EndpointPort
ForNode: name! string
ForZone: name! string
AddressType = string
`;
