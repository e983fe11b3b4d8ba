import type { ServicePort } from "../../../lib/gen/kubernetes/core.d.ts";
import type { Unstructured } from "../../definition.ts";

/** The parts of a service's spec that are used here. */
export interface ServiceSpec {
  type?: string;
  ports?: ServicePort[];
  selector?: Record<string, string>;
  clusterIP?: string;
  clusterIPs?: string[];
  externalIPs?: string[];
  externalName?: string;
  sessionAffinity?: string;
  sessionAffinityConfig?: { clientIP?: { timeoutSeconds?: number } };
  ipFamilies?: string[];
  ipFamilyPolicy?: string;
  internalTrafficPolicy?: string;
  externalTrafficPolicy?: string;
  healthCheckNodePort?: number;
  allocateLoadBalancerNodePorts?: boolean;
  loadBalancerSourceRanges?: string[];
  loadBalancerClass?: string;
  trafficDistribution?: string;
}

export function specOf(service: Readonly<Unstructured>): ServiceSpec {
  return (service.spec ?? {}) as ServiceSpec;
}

export function isHeadless(spec: ServiceSpec): boolean {
  return spec.clusterIPs?.length === 1 && spec.clusterIPs[0] === "None";
}

export function needsClusterIp(spec: ServiceSpec): boolean {
  return spec.type !== "ExternalName";
}

export function needsNodePorts(spec: ServiceSpec): boolean {
  return (
    spec.type === "NodePort" || (spec.type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts !== false)
  );
}

/** Reachable from outside of the cluster: externalTrafficPolicy applies. */
export function isExternal(spec: ServiceSpec): boolean {
  return (
    spec.type === "LoadBalancer" ||
    spec.type === "NodePort" ||
    (spec.type === "ClusterIP" && (spec.externalIPs?.length ?? 0) > 0)
  );
}

export function needsHealthCheck(spec: ServiceSpec): boolean {
  return spec.type === "LoadBalancer" && spec.externalTrafficPolicy === "Local";
}
