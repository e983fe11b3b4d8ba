import { defineKind } from "./define.ts";
import { nameIsSubdomain } from "./names.ts";

export const leases = defineKind({
  group: "coordination.k8s.io",
  version: "v1",
  name: "leases",
  singular: "lease",
  kind: "Lease",
  namespaced: true,
  nameRule: nameIsSubdomain,
  createsOnUpdate: true,
  defaults(draft) {
    draft.spec ??= {};
  },
  check({ spec }, problems) {
    if (spec.leaseDurationSeconds !== undefined && spec.leaseDurationSeconds <= 0)
      problems.invalid("spec.leaseDurationSeconds", spec.leaseDurationSeconds, "must be greater than 0");
    problems.notNegative("spec.leaseTransitions", spec.leaseTransitions);
    if (spec.strategy) problems.oneOf("spec.strategy", spec.strategy, ["OldestEmulationVersion"]);
    if (spec.preferredHolder && !spec.strategy)
      problems.forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined");
  },
});
