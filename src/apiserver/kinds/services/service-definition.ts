import type { ResourceDefinition } from "../../definition.ts";
import { defineKind } from "../define.ts";
import { nameIsLabel } from "../names.ts";
import type { ServiceAllocation } from "./allocation.ts";
import { serviceDefaults } from "./defaults.ts";
import { linkFields } from "./linked-fields.ts";
import { needsClusterIp, specOf } from "./service.ts";
import { checkService, checkServiceChange } from "./validation.ts";

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
