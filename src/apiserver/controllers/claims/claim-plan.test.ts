import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type {
  AllocationResult,
  Device,
  DeviceRequest,
  ResourceClaim,
  ResourceSlice,
} from "../../../lib/gen/kubernetes/resource.d.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import { type ClaimInputs, type ClaimStep, planClaims, podClaimAnnotation } from "./claim-plan.ts";

const node = { name: "n1", labels: {} };
const slice = (devices: (string | Device)[], more: Partial<ResourceSlice["spec"]> = {}): ResourceSlice => ({
  spec: {
    driver: "d",
    nodeName: "n1",
    pool: { name: "p", generation: 1, resourceSliceCount: 1 },
    devices: devices.map((device) => (typeof device === "string" ? { name: device } : device)),
    ...more,
  },
});
const classOf = (expression?: string) => ({
  metadata: { name: "gpu" },
  spec: expression === undefined ? {} : { selectors: [{ cel: { expression } }] },
});
const claim = (
  name: string,
  requests: DeviceRequest[],
  more: Partial<ResourceClaim> = {},
): ResourceClaim => ({
  metadata: { name, namespace: "default", uid: `uid-${name}` },
  spec: { devices: { requests } },
  ...more,
});
const exactly = (more: object = {}): DeviceRequest => ({
  name: "r",
  exactly: { deviceClassName: "gpu", allocationMode: "ExactCount", count: 1, ...more },
});
const pod = (uid: string, claims: string[], more: Partial<Pod> = {}): Pod =>
  fakePod({
    ...more,
    metadata: { name: uid, namespace: "default", uid: uid as PodUid, ...more.metadata },
    spec: {
      containers: [{ name: "c" }],
      resourceClaims: claims.map((name) => ({ name, resourceClaimName: name })),
      ...more.spec,
    },
  });
const allocation = (...devices: string[]): AllocationResult => ({
  devices: { results: devices.map((device) => ({ request: "r", driver: "d", pool: "p", device })) },
});
const reserved = (uid: string) => ({ resource: "pods", name: uid, uid });
const plan = (inputs: Partial<ClaimInputs>) =>
  planClaims({
    pods: [],
    nodes: [node],
    claims: [],
    templates: [],
    classes: [classOf()],
    slices: [slice(["a", "b"])],
    ...inputs,
  });
/** A step in one line. */
const line = (step: ClaimStep) => {
  switch (step.do) {
    case "allocate":
      return `allocate ${step.claim.metadata?.name} ${step.allocation.devices?.results?.map(({ device, adminAccess }) => device + (adminAccess ? "!" : "")).join()} for ${step.pod.metadata.uid}`;
    case "reserve":
      return `reserve ${step.claim.metadata?.name} for ${step.pod.metadata.uid}`;
    case "release":
      return `release ${step.claim.metadata?.name} to ${step.consumers.join() || "none"}`;
    case "create":
      return `create ${step.podClaim} from ${step.template.metadata?.name}`;
    case "name":
      return `name ${step.podClaim} ${step.claim}`;
    case "delete":
    case "refuse":
      return `${step.do} ${step.claim.metadata?.name}`;
    default:
      return step satisfies never;
  }
};

describe("the allocation of a claim", () => {
  const cases: {
    rule: string;
    request?: DeviceRequest;
    inputs?: Partial<ClaimInputs>;
    devices?: string;
    blocked?: RegExp;
  }[] = [
    { rule: "takes one device", devices: "a" },
    { rule: "takes as many as requested", request: exactly({ count: 2 }), devices: "a,b" },
    {
      rule: "waits if there are too few",
      request: exactly({ count: 3 }),
      blocked: /ResourceClaim x: request r: needs 3 devices of class gpu, 2 available/,
    },
    {
      rule: "takes no device that is allocated to another claim",
      inputs: { claims: [claim("y", [], { status: { allocation: allocation("a"), reservedFor: [] } })] },
      devices: "b",
    },
    {
      rule: "takes a device in use with admin access",
      request: exactly({ adminAccess: true }),
      inputs: { claims: [claim("y", [], { status: { allocation: allocation("a"), reservedFor: [] } })] },
      devices: "a!",
    },
    {
      rule: "takes all devices",
      request: exactly({ allocationMode: "All", count: undefined }),
      devices: "a,b",
    },
    {
      rule: "waits for all devices",
      request: exactly({ allocationMode: "All", count: undefined }),
      inputs: { claims: [claim("y", [], { status: { allocation: allocation("a"), reservedFor: [] } })] },
      blocked: /1 of 2 devices are available, needs all/,
    },
    {
      rule: "takes devices of the driver that the class selects",
      inputs: {
        classes: [classOf('device.driver == "e"')],
        slices: [slice(["a"]), slice(["z"], { driver: "e" })],
      },
      devices: "z",
    },
    {
      rule: "is rejected if the request has selectors",
      request: exactly({ selectors: [{ cel: { expression: "true" } }] }),
      blocked: /not supported by this API server: selectors of request r/,
    },
    {
      rule: "is rejected if the request has alternatives",
      request: { name: "r", firstAvailable: [{ name: "s", deviceClassName: "gpu" }] },
      blocked: /not supported by this API server: firstAvailable of request r/,
    },
    { rule: "waits for its class", inputs: { classes: [] }, blocked: /device class gpu does not exist/ },
    {
      rule: "uses no slices of other nodes",
      inputs: { slices: [slice(["a"], { nodeName: "n2" })] },
      blocked: /0 available/,
    },
    {
      rule: "uses slices of all nodes",
      inputs: {
        slices: [
          {
            spec: {
              driver: "d",
              allNodes: true,
              devices: [{ name: "net" }],
              pool: { name: "p", generation: 1, resourceSliceCount: 1 },
            },
          },
        ],
      },
      devices: "net",
    },
    {
      rule: "uses the newest generation of a pool",
      inputs: {
        slices: [
          slice(["old"]),
          slice(["new"], { pool: { name: "p", generation: 2, resourceSliceCount: 1 } }),
        ],
      },
      devices: "new",
    },
    {
      rule: "waits until a pool is complete",
      inputs: { slices: [slice(["a"], { pool: { name: "p", generation: 1, resourceSliceCount: 2 } })] },
      blocked: /0 available/,
    },
    {
      rule: "uses no tainted devices",
      inputs: { slices: [slice([{ name: "a", taints: [{ key: "bad", effect: "NoSchedule" }] }, "b"])] },
      devices: "b",
    },
  ];
  for (const { rule, request = exactly(), inputs = {}, devices, blocked } of cases)
    it(rule, () => {
      const found = plan({
        pods: [pod("u1", ["x"])],
        ...inputs,
        claims: [claim("x", [request]), ...(inputs.claims ?? [])],
      });
      const steps = found.steps.map(line).filter((step) => !step.startsWith("refuse"));
      assert.deepEqual(steps, devices === undefined ? [] : [`allocate x ${devices} for u1`]);
      assert.match(found.blocked.get("u1") ?? "", blocked ?? /waiting for resourceclaims to be allocated/);
    });

  it("reports what is not supported on the claim", () => {
    const { steps } = plan({
      pods: [pod("u1", ["x"])],
      claims: [claim("x", [exactly({ capacity: { requests: { memory: "1Gi" } } })])],
    });
    assert.deepEqual(steps.map(line), ["refuse x"]);
  });

  it("gives the claims of two pods different devices, and all claims of a pod or none", () => {
    const both = plan({
      pods: [pod("u1", ["x"]), pod("u2", ["y"])],
      claims: [claim("x", [exactly()]), claim("y", [exactly()])],
    });
    assert.deepEqual(both.steps.map(line), ["allocate x a for u1", "allocate y b for u2"]);
    const tooMany = plan({
      pods: [pod("u1", ["x", "y"])],
      claims: [claim("x", [exactly()]), claim("y", [exactly({ count: 2 })])],
    });
    assert.deepEqual(tooMany.steps, []);
  });

  it("copies the configuration of class and claim", () => {
    const opaque = (driver: string) => ({ opaque: { driver, parameters: { size: 1 } } });
    const { steps } = plan({
      pods: [pod("u1", ["x"])],
      classes: [{ metadata: { name: "gpu" }, spec: { config: [opaque("one")] } }],
      claims: [
        {
          ...claim("x", []),
          spec: { devices: { requests: [exactly()], config: [{ requests: ["r"], ...opaque("two") }] } },
        },
      ],
    });
    const [step] = steps;
    assert.ok(step?.do === "allocate");
    assert.deepEqual(step.allocation.devices?.config, [
      { source: "FromClass", requests: ["r"], ...opaque("one") },
      { source: "FromClaim", requests: ["r"], ...opaque("two") },
    ]);
  });
});

describe("the claims of pods", () => {
  const template = { metadata: { name: "t", namespace: "default" }, spec: { spec: {} } };
  const templated = (more: Partial<Pod> = {}) =>
    pod("u1", [], {
      ...more,
      spec: {
        containers: [{ name: "c" }],
        resourceClaims: [{ name: "dev", resourceClaimTemplateName: "t" }],
      },
    });
  const generated = claim("u1-dev-1", [], {
    metadata: {
      name: "u1-dev-1",
      namespace: "default",
      uid: "g",
      annotations: { [podClaimAnnotation]: "dev" },
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "u1", uid: "u1", controller: true }],
    },
  });
  const held = (uids: string[], more: Partial<ResourceClaim["metadata"]> = {}) => ({
    ...claim("x", [], { status: { allocation: allocation("a"), reservedFor: uids.map(reserved) } }),
    metadata: { name: "x", namespace: "default", uid: "uid-x", ...more },
  });
  const cases: { rule: string; inputs: Partial<ClaimInputs>; steps: string[]; blocked?: RegExp }[] = [
    {
      rule: "are created from a template",
      inputs: { pods: [templated()], templates: [template] },
      steps: ["create dev from t"],
      blocked: /to be created/,
    },
    {
      rule: "wait for their template",
      inputs: { pods: [templated()] },
      steps: [],
      blocked: /resourceclaimtemplate "t" not found/,
    },
    {
      rule: "are named in the pod's status, once created",
      inputs: { pods: [templated()], templates: [template], claims: [generated] },
      steps: ["name dev u1-dev-1"],
      blocked: /to be created/,
    },
    {
      rule: "block their pod while they do not exist",
      inputs: { pods: [pod("u1", ["x"])] },
      steps: [],
      blocked: /resourceclaim "x" not found/,
    },
    {
      rule: "are also reserved for a second pod",
      inputs: { pods: [pod("u1", ["x"]), pod("u2", ["x"])], claims: [held(["u1"])] },
      steps: ["reserve x for u2"],
    },
    {
      rule: "do not block a pod that has them",
      inputs: { pods: [pod("u1", ["x"])], claims: [held(["u1"])] },
      steps: [],
    },
    {
      rule: "are released when one of their pods has terminated",
      inputs: {
        pods: [pod("u1", ["x"], { status: { phase: "Succeeded" } }), pod("u2", ["x"])],
        claims: [held(["u1", "u2"])],
      },
      steps: ["release x to u2"],
    },
    {
      rule: "are deallocated when their last pod is gone",
      inputs: { claims: [held(["u1"])] },
      steps: ["release x to none"],
    },
    {
      rule: "lose their finalizer when they are deleted and no pod uses them",
      inputs: { claims: [held([], { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["f"] })] },
      steps: ["release x to none"],
    },
    {
      rule: "that were generated are deleted when their pod has terminated",
      inputs: { pods: [templated({ status: { phase: "Failed" } })], claims: [generated] },
      steps: ["delete u1-dev-1"],
    },
    {
      rule: "are kept while a deleted pod is still terminating",
      inputs: {
        pods: [
          pod("u1", ["x"], {
            metadata: {
              name: "u1",
              namespace: "default",
              uid: "u1" as PodUid,
              deletionTimestamp: "2026-01-01T00:00:00Z",
            },
            spec: { nodeName: "n1", containers: [], resourceClaims: [{ name: "x", resourceClaimName: "x" }] },
          }),
        ],
        claims: [held(["u1"])],
      },
      steps: [],
    },
  ];
  for (const { rule, inputs, steps, blocked } of cases)
    it(rule, () => {
      const found = plan(inputs);
      assert.deepEqual(found.steps.map(line), steps);
      if (blocked) assert.match(found.blocked.get("u1") ?? "", blocked);
      else assert.equal(found.blocked.get("u1"), undefined);
    });
});
