import { defineKind } from "./define.ts";
import { nameIsSubdomain } from "./names.ts";

const minTokenSeconds = 600;
const maxTokenSeconds = 2 ** 32;

export const csiDrivers = defineKind({
  group: "storage.k8s.io",
  version: "v1",
  name: "csidrivers",
  singular: "csidriver",
  kind: "CSIDriver",
  namespaced: false,
  nameRule: nameIsSubdomain,
  countsGenerations: true,
  defaults(draft) {
    draft.spec ??= {};
    const { spec } = draft;
    spec.attachRequired ??= true;
    spec.podInfoOnMount ??= false;
    spec.storageCapacity ??= false;
    spec.fsGroupPolicy ??= "ReadWriteOnceWithFSType";
    if (!spec.volumeLifecycleModes?.length) spec.volumeLifecycleModes = ["Persistent"];
    spec.requiresRepublish ??= false;
    spec.seLinuxMount ??= false;
  },
  check({ spec }, problems) {
    problems.oneOf("spec.fsGroupPolicy", spec.fsGroupPolicy, ["File", "None", "ReadWriteOnceWithFSType"]);
    const audiences = new Set<string>();
    for (const [i, { audience = "", expirationSeconds }] of (spec.tokenRequests ?? []).entries()) {
      const path = `spec.tokenRequests[${i}]`;
      if (audiences.has(audience)) problems.duplicate(`${path}.audience`, audience);
      audiences.add(audience);
      if (expirationSeconds < minTokenSeconds)
        problems.invalid(
          `${path}.expirationSeconds`,
          expirationSeconds,
          "may not specify a duration less than 10 minutes",
        );
      if (expirationSeconds > maxTokenSeconds)
        problems.invalid(
          `${path}.expirationSeconds`,
          expirationSeconds,
          "may not specify a duration larger than 2^32 seconds",
        );
    }
    for (const mode of spec.volumeLifecycleModes)
      problems.oneOf("spec.volumeLifecycleModes", mode, ["Persistent", "Ephemeral"]);
    const period = spec.nodeAllocatableUpdatePeriodSeconds;
    if (period !== undefined && period < 10)
      problems.invalid(
        "spec.nodeAllocatableUpdatePeriodSeconds",
        period,
        "must be greater than or equal to 10 seconds",
      );
    if (spec.serviceAccountTokenInSecrets !== undefined && !spec.tokenRequests?.length)
      problems.invalid(
        "spec.serviceAccountTokenInSecrets",
        spec.serviceAccountTokenInSecrets,
        "serviceAccountTokenInSecrets is set but no tokenRequests are specified",
      );
  },
  checkUpdate(draft, oldObject, problems) {
    problems.immutable("spec.attachedRequired", draft.spec.attachRequired, oldObject.spec.attachRequired);
    problems.immutable(
      "spec.volumeLifecycleModes",
      draft.spec.volumeLifecycleModes,
      oldObject.spec.volumeLifecycleModes,
    );
  },
});
