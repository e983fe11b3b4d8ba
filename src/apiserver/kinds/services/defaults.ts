import type { Unstructured } from "../../definition.ts";
import { isExternal, type ServiceSpec } from "./service.ts";

const affinitySeconds = 10_800;

export function serviceDefaults(draft: Unstructured): void {
  draft.spec ??= {};
  const spec = draft.spec as ServiceSpec;
  spec.sessionAffinity ||= "None";
  if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig;
  if (
    spec.sessionAffinity === "ClientIP" &&
    spec.sessionAffinityConfig?.clientIP?.timeoutSeconds === undefined
  )
    spec.sessionAffinityConfig = { clientIP: { timeoutSeconds: affinitySeconds } };
  spec.type ||= "ClusterIP";
  for (const port of spec.ports ?? []) {
    port.protocol ||= "TCP";
    if (!port.targetPort) port.targetPort = port.port;
  }
  if (isExternal(spec)) spec.externalTrafficPolicy ||= "Cluster";
  if (["ClusterIP", "NodePort", "LoadBalancer"].includes(spec.type)) spec.internalTrafficPolicy ??= "Cluster";
  if (spec.type === "LoadBalancer") spec.allocateLoadBalancerNodePorts ??= true;
  draft.status ??= {};
  draft.status.loadBalancer ??= {};
}
