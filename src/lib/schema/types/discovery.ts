import { TypePackage } from "../type-package.ts";
import { core } from "./core/core.ts";
import { meta } from "./meta.ts";

/** In the notation of `../notation.ts`. */
const text = `
kind EndpointSlice
   1 metadata meta.ObjectMeta
   2 endpoints []Endpoint
   3 ports []EndpointPort
   4 addressType! AddressType
Endpoint
   1 addresses! []string set
   2 conditions EndpointConditions
   3 hostname *string
   4 targetRef *core.ObjectReference
   5 deprecatedTopology map[string]string
   6 nodeName *string
   7 zone *string
   8 hints *EndpointHints
EndpointConditions
   1 ready *bool
   2 serving *bool
   3 terminating *bool
EndpointHints
   1 forZones []ForZone
   2 forNodes []ForNode
ForNode
   1 name! string
ForZone
   1 name! string
EndpointPort atomic
   1 name *string
   2 protocol *core.Protocol
   3 port *int32
   4 appProtocol *string
AddressType = string
`;

export const discovery = new TypePackage({
  name: "discovery",
  group: "discovery.k8s.io",
  version: "v1",
  uses: [core, meta],
  text,
});
