// Made by "npm run gen" from src/lib/schema/types.
import type * as core from "./core.d.ts";
import type * as meta from "./meta.d.ts";

export interface EndpointSlice {
  apiVersion?: "discovery.k8s.io/v1";
  kind?: "EndpointSlice";
  metadata?: meta.ObjectMeta;
  endpoints?: Endpoint[];
  ports?: EndpointPort[];
  addressType: string;
}

export interface Endpoint {
  addresses: string[];
  conditions?: EndpointConditions;
  hostname?: string;
  targetRef?: core.ObjectReference;
  deprecatedTopology?: { [name: string]: string };
  nodeName?: string;
  zone?: string;
  hints?: EndpointHints;
}

export interface EndpointConditions {
  ready?: boolean;
  serving?: boolean;
  terminating?: boolean;
}

export interface EndpointHints {
  forZones?: ForZone[];
  forNodes?: ForNode[];
}

export interface ForNode {
  name: string;
}

export interface ForZone {
  name: string;
}

export interface EndpointPort {
  name?: string;
  protocol?: string;
  port?: number;
  appProtocol?: string;
}
