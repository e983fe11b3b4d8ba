import { defineKind } from "./define.ts";
import { nameIsSubdomain } from "./names.ts";
import { checkSelectors } from "./resource-claims.ts";

export const deviceClasses = defineKind({
  group: "resource.k8s.io",
  version: "v1",
  name: "deviceclasses",
  singular: "deviceclass",
  kind: "DeviceClass",
  namespaced: false,
  countsGenerations: true,
  nameRule: nameIsSubdomain,
  defaults(draft) {
    draft.spec ??= {};
  },
  check({ spec }, problems) {
    checkSelectors(spec.selectors, "spec.selectors", problems);
  },
});
