import assert from "node:assert/strict";
import { test } from "node:test";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { claimReferences, containerClaims } from "./claim-references.ts";

// parity: gate DRAExtendedResource=true as extendedResources, gate DRAExtendedResource=false as extendedResources
test("the claim of extended resources is used only with the gate DRAExtendedResource", () => {
  const status = {
    extendedResourceClaimStatus: {
      resourceClaimName: "extended",
      requestMappings: [{ containerName: "c", resourceName: "example.com/gpu", requestName: "request-0" }],
    },
  };
  const requests = { "example.com/gpu": "1" };
  const pod: Pod = {
    ...fakePod({
      spec: {
        resourceClaims: [{ name: "own", resourceClaimName: "named" }],
        containers: [{ name: "c", resources: { claims: [{ name: "own" }], requests, limits: requests } }],
      },
    }),
    status,
  };
  const used = (extendedResources: boolean) => [
    claimReferences(pod, extendedResources).map(({ claim }) => claim),
    Object.fromEntries(containerClaims(pod, pod.spec.containers[0]!, extendedResources)),
  ];
  assert.deepEqual(used(true), [["named", "extended"], { named: [""], extended: ["request-0"] }]);
  assert.deepEqual(used(false), [["named"], { named: [""] }]);
});
