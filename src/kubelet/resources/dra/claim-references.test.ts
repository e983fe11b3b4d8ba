import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ResourceClaim } from "../../../lib/gen/kubernetes/resource.d.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import { claimReferences, containerClaims, driversOf, usesNoClaims } from "./claim-references.ts";
import { fakeClaim } from "./fake-drivers.ts";

const pod = (more: Partial<Pod>): Pod =>
  fakePod({ ...more, metadata: { name: "web", namespace: "ns", uid: "u1" as PodUid } });
const extended = {
  resourceClaimName: "ext",
  requestMappings: [
    { containerName: "c", resourceName: "x/gpu", requestName: "r0" },
    { containerName: "d", resourceName: "x/gpu", requestName: "r1" },
  ],
};

describe("the claims of a pod", () => {
  const spec = (claim: object) => ({
    resourceClaims: [{ name: "a", ...claim }],
    containers: [{ name: "c" }],
  });
  const template = spec({ resourceClaimTemplateName: "t" });
  const cases: [string, Partial<Pod>, string[] | RegExp][] = [
    ["a claim by its name", { spec: spec({ resourceClaimName: "x" }) }, ["a x"]],
    [
      "a claim from a template by the name in the status",
      { spec: template, status: { resourceClaimStatuses: [{ name: "a", resourceClaimName: "web-a-1" }] } },
      ["a web-a-1 generated"],
    ],
    [
      "no claim if the status names none",
      { spec: template, status: { resourceClaimStatuses: [{ name: "a" }] } },
      [],
    ],
    [
      "an error if the claim was not created yet",
      { spec: template },
      /^pod "ns\/web": ResourceClaim not created yet$/,
    ],
    [
      "an error if the reference has no source",
      { spec: spec({}) },
      /^pod "ns\/web", spec.resourceClaim "a": none of the supported fields are set$/,
    ],
    [
      "the claim of extended resources",
      { status: { extendedResourceClaimStatus: extended } },
      ["undefined ext"],
    ],
  ];
  for (const [what, given, expected] of cases)
    it(what, () => {
      const found = () =>
        claimReferences(pod(given), true).map(
          ({ podClaim, claim, isGenerated }) => `${podClaim} ${claim}${isGenerated ? " generated" : ""}`,
        );
      if (expected instanceof RegExp) assert.throws(found, { message: expected });
      else assert.deepEqual(found(), expected);
    });

  it("nothing of extended resources without the gate", () => {
    const given = pod({ status: { extendedResourceClaimStatus: extended } });
    assert.deepEqual(claimReferences(given, false), []);
  });

  it("a pod without any is recognized by its spec and status alone", () => {
    assert.equal(usesNoClaims(pod({})), true);
    assert.equal(usesNoClaims(pod({ spec: template })), false);
    assert.equal(usesNoClaims(pod({ status: { extendedResourceClaimStatus: extended } })), false);
  });
});

describe("whether a pod may use a claim", () => {
  const claim = (more: Partial<ResourceClaim> = {}): ResourceClaim => ({
    ...fakeClaim("x", ["d1", "d2", "d1"], ["u1"]),
    ...more,
  });
  const owned = (uid: string) => ({
    name: "x",
    namespace: "ns",
    ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "web", uid, controller: true }],
  });
  const { allocation } = claim().status!;
  const cases: [string, boolean, ResourceClaim, string[] | string][] = [
    ["allocated and reserved: each driver once", false, claim(), ["d1", "d2"]],
    ["generated for this pod", true, claim({ metadata: owned("u1") }), ["d1", "d2"]],
    [
      "generated for another pod",
      true,
      claim({ metadata: owned("u2") }),
      "ResourceClaim ns/x was not created for Pod ns/web (Pod is not owner)",
    ],
    [
      "not reserved",
      false,
      claim({ status: { allocation: allocation!, reservedFor: [] } }),
      "pod web (u1) is not allowed to use ResourceClaim x (uid-x)",
    ],
    [
      "not allocated",
      false,
      claim({ status: { reservedFor: [{ resource: "pods", name: "web", uid: "u1" }] } }),
      "ResourceClaim x: not allocated",
    ],
  ];
  for (const [what, isGenerated, object, expected] of cases)
    it(what, () => {
      const drivers = () => driversOf(pod({}), { podClaim: "a", claim: "x", isGenerated }, object);
      if (typeof expected === "string") assert.throws(drivers, { message: expected });
      else assert.deepEqual(drivers(), expected);
    });
});

describe("with DRAWorkloadResourceClaims, whether a pod may use the claim of its group", () => {
  const group = { apiVersion: "scheduling.k8s.io/v1alpha2", kind: "PodGroup", name: "g", uid: "ug" };
  const reserved = { apiGroup: "scheduling.k8s.io", resource: "podgroups", name: "g", uid: "ug" };
  const claimOf = (controller: object, consumer: object): ResourceClaim => {
    const { status, ...claim } = fakeClaim("x", ["d1"], []);
    return {
      ...claim,
      metadata: {
        ...claim.metadata,
        namespace: "ns",
        ownerReferences: [{ ...group, ...controller, controller: true }],
      },
      status: { ...status, reservedFor: [{ ...reserved, ...consumer }] },
    };
  };
  const inGroup = (podGroupName: string | undefined) =>
    pod({ spec: { containers: [], schedulingGroup: { podGroupName } } as Pod["spec"] });
  const reference = { podClaim: "a", claim: "x", isGenerated: true };
  const notOwner = (problem: string) => `ResourceClaim ns/x was not created for Pod ns/web (${problem})`;
  const notReserved = "pod web (u1) is not allowed to use ResourceClaim x (uid-x)";
  for (const [rule, given, object, expected] of [
    ["it is owned by the group and reserved for it", inGroup("g"), claimOf({}, {}), ["d1"]],
    [
      "it is owned by another group",
      inGroup("g"),
      claimOf({ name: "h" }, {}),
      notOwner("neither Pod nor PodGroup g is the owner"),
    ],
    [
      "it is owned by another kind",
      inGroup("g"),
      claimOf({ kind: "Job" }, {}),
      notOwner("neither Pod nor PodGroup g is the owner"),
    ],
    [
      "it is owned by a group of another API",
      inGroup("g"),
      claimOf({ apiVersion: "example.com/v1" }, {}),
      notOwner("neither Pod nor PodGroup g is the owner"),
    ],
    ["it is reserved for another group", inGroup("g"), claimOf({}, { name: "h" }), notReserved],
    ["it is reserved for a group of another API", inGroup("g"), claimOf({}, { apiGroup: "" }), notReserved],
    ["the pod has no group", pod({}), claimOf({}, {}), notOwner("Pod is not owner")],
    ["the name of the group is unset", inGroup(undefined), claimOf({}, {}), notOwner("Pod is not owner")],
  ] as const)
    it(rule, () => {
      const drivers = () => driversOf(given, reference, object, true);
      if (typeof expected === "string") assert.throws(drivers, { message: expected });
      else assert.deepEqual(drivers(), expected);
    });

  it("without the gate it may not", () => {
    assert.throws(() => driversOf(inGroup("g"), reference, claimOf({}, {})), {
      message: notOwner("Pod is not owner"),
    });
    const shared = { ...reference, isGenerated: false };
    assert.throws(() => driversOf(inGroup("g"), shared, claimOf({}, {})), { message: notReserved });
  });
});

describe("the claims of a container", () => {
  const resourceClaims = [
    { name: "a", resourceClaimName: "x" },
    { name: "b", resourceClaimName: "y" },
  ];
  it("are those that it names, with their requests", () => {
    const resources = { claims: [{ name: "a", request: "r1" }, { name: "a", request: "r2" }, { name: "b" }] };
    const container = { name: "c", resources };
    const found = containerClaims(
      pod({ spec: { resourceClaims, containers: [container] } }),
      container,
      true,
    );
    assert.deepEqual(
      [...found],
      [
        ["x", ["r1", "r2"]],
        ["y", [""]],
      ],
    );
  });

  it("include the mapped requests of extended resources that it requests", () => {
    const of = (name: string, amount: string, gate = true) => {
      const container = { name, resources: { requests: { "x/gpu": amount } } };
      const given = pod({
        spec: { containers: [container] },
        status: { extendedResourceClaimStatus: extended },
      });
      return [...containerClaims(given, container, gate)];
    };
    assert.deepEqual(of("c", "1"), [["ext", ["r0"]]]);
    assert.deepEqual(of("d", "2"), [["ext", ["r1"]]]);
    assert.deepEqual(of("c", "0"), []);
    assert.deepEqual(of("other", "1"), []);
    assert.deepEqual(of("c", "1", false), []);
  });
});

// parity: gate DRAExtendedResource=true as extendedResources, gate DRAExtendedResource=false as extendedResources, gate DynamicResourceAllocation=true as claimReferences
it("the claim of extended resources is used only with the gate DRAExtendedResource", () => {
  const status = {
    extendedResourceClaimStatus: {
      resourceClaimName: "extended",
      requestMappings: [{ containerName: "c", resourceName: "example.com/gpu", requestName: "request-0" }],
    },
  };
  const requests = { "example.com/gpu": "1" };
  const given: Pod = {
    ...fakePod({
      spec: {
        resourceClaims: [{ name: "own", resourceClaimName: "named" }],
        containers: [{ name: "c", resources: { claims: [{ name: "own" }], requests, limits: requests } }],
      },
    }),
    status,
  };
  const used = (extendedResources: boolean) => [
    claimReferences(given, extendedResources).map(({ claim }) => claim),
    Object.fromEntries(containerClaims(given, given.spec.containers[0]!, extendedResources)),
  ];
  assert.deepEqual(used(true), [["named", "extended"], { named: [""], extended: ["request-0"] }]);
  assert.deepEqual(used(false), [["named"], { named: [""] }]);
});
