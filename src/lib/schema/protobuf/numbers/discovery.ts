/** In the notation of `../field-numbers.ts`. */
export const discoveryNumbers = `
Endpoint: addresses conditions hostname* targetRef* deprecatedTopology nodeName* zone* hints*
EndpointConditions: ready* serving* terminating*
EndpointHints: forZones forNodes
EndpointPort: name* protocol* port* appProtocol*
EndpointSlice: metadata endpoints ports addressType
ForNode: name
ForZone: name
`;
