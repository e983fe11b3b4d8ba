import type { ResourceDefinition, Unstructured } from "../../definition.ts";
import { defineKind } from "../define.ts";
import { nameIsLabel } from "../names.ts";
import type { ServiceAllocation } from "./allocation.ts";
import { linkFields } from "./linked-fields.ts";
import { isExternal, needsClusterIp, type ServiceSpec, specOf } from "./service.ts";
import { checkService, checkServiceChange } from "./validation.ts";

const affinitySeconds = 10_800;

export function services(allocation: ServiceAllocation): ResourceDefinition {
  return defineKind({
    group: "",
    version: "v1",
    name: "services",
    singular: "service",
    kind: "Service",
    namespaced: true,
    shortNames: ["svc"],
    categories: ["all"],
    nameRule: nameIsLabel,
    createsOnUpdate: true,
    defaults: serviceDefaults,
    prepareCreate: (draft, context) => allocation.allocate(draft, context),
    async prepareUpdate(draft, oldObject, context) {
      linkFields(draft, oldObject);
      const [spec, old] = [specOf(draft), specOf(oldObject)];
      // A changed clusterIP is rejected as immutable, not as already allocated.
      const changed = needsClusterIp(old) && needsClusterIp(spec) && old.clusterIP !== spec.clusterIP;
      if (!changed) await allocation.allocate(draft, context, oldObject);
    },
    check: checkService,
    checkUpdate: checkServiceChange,
    status: { atCreation: { loadBalancer: {} } },
  });
}

function serviceDefaults(draft: Unstructured): void {
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
