import { dateOf, type WallTime } from "../../lib/base/time.ts";
/** The Node of the API, as far as a node has to do with it. Fields of others pass through untouched. */
export interface NodeObject {
  apiVersion: "v1";
  kind: "Node";
  metadata: NodeMeta;
  spec: NodeSpec;
  status: NodeStatus;
}

export interface NodeMeta {
  name: string;
  uid?: string;
  resourceVersion?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

export interface NodeSpec {
  taints?: Taint[];
  providerID?: string;
  unschedulable?: boolean;
  podCIDR?: string;
  podCIDRs?: string[];
}

export interface Taint {
  key: string;
  value?: string;
  effect: string;
  timeAdded?: string;
}

/** Quantities by the name of the resource, as the API writes them: "2", "1900m", "24580016Ki". */
export type ResourceList = Record<string, string>;

export interface NodeStatus {
  capacity?: ResourceList;
  allocatable?: ResourceList;
  conditions?: NodeCondition[];
  addresses?: NodeAddress[];
  daemonEndpoints?: { kubeletEndpoint: { Port: number } };
  nodeInfo?: NodeSystemInfo;
  images?: NodeImage[];
  volumesInUse?: string[];
  volumesAttached?: { name: string; devicePath: string }[];
  runtimeHandlers?: NodeRuntimeHandler[];
  features?: { supplementalGroupsPolicy?: boolean };
  declaredFeatures?: string[];
}

export interface NodeCondition {
  type: string;
  status: "True" | "False" | "Unknown";
  lastHeartbeatTime: string;
  lastTransitionTime: string;
  reason: string;
  message: string;
}

export interface NodeAddress {
  type: "InternalIP" | "Hostname" | "ExternalIP" | "InternalDNS" | "ExternalDNS";
  address: string;
}

export interface NodeSystemInfo {
  machineID: string;
  systemUUID: string;
  bootID: string;
  kernelVersion: string;
  osImage: string;
  containerRuntimeVersion: string;
  kubeletVersion: string;
  kubeProxyVersion: string;
  operatingSystem: string;
  architecture: string;
  swap?: { capacity: number };
}

export interface NodeImage {
  names: string[];
  sizeBytes: number;
}

export interface NodeRuntimeHandler {
  name: string;
  features: { recursiveReadOnlyMounts: boolean; userNamespaces: boolean };
}

export interface Lease {
  apiVersion: "coordination.k8s.io/v1";
  kind: "Lease";
  metadata: {
    name: string;
    namespace: string;
    uid?: string;
    resourceVersion?: string;
    ownerReferences?: { apiVersion: string; kind: string; name: string; uid: string }[];
  };
  spec: { holderIdentity?: string; leaseDurationSeconds?: number; renewTime?: string };
}

/** A moment as the API writes it: whole seconds. */
export function apiTime(time: WallTime): string {
  return `${dateOf(time).toISOString().slice(0, 19)}Z`;
}

/** A moment of a lease: microseconds, though our clock only knows thousandths. */
export function apiMicroTime(time: WallTime): string {
  return `${dateOf(time).toISOString().slice(0, 23)}000Z`;
}
