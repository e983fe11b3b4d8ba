import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { fakeContainer, fakePod } from "./fake-pod.ts";
import type { Pod, ResourceRequirements } from "./pod.ts";
import { computeQos, podQos, type QosClass } from "./qos.ts";

const both = { cpu: "1", memory: "1Gi" };
const full: ResourceRequirements = { requests: both, limits: both };
const pod = (...containers: (ResourceRequirements | undefined)[]) =>
  fakePod({ spec: { containers: containers.map((resources) => ({ resources })) } });

const rows: { rule: string; pod: Pod; qos: QosClass }[] = [
  { rule: "nothing requested is BestEffort", pod: pod(undefined, {}), qos: "BestEffort" },
  {
    rule: "zero is nothing",
    pod: pod({ requests: { cpu: "0" }, limits: { memory: "0" } }),
    qos: "BestEffort",
  },
  {
    rule: "other resources do not count",
    pod: pod({ limits: { "example.com/gpu": "1" } }),
    qos: "BestEffort",
  },
  { rule: "limits equal to requests for both is Guaranteed", pod: pod(full, full), qos: "Guaranteed" },
  {
    rule: "the same amount written differently is the same",
    pod: pod({ requests: { cpu: "1000m", memory: "1024Mi" }, limits: both }),
    qos: "Guaranteed",
  },
  { rule: "one container without limits is enough to be Burstable", pod: pod(full, {}), qos: "Burstable" },
  {
    rule: "only CPU is Burstable",
    pod: pod({ requests: { cpu: "1" }, limits: { cpu: "1" } }),
    qos: "Burstable",
  },
  {
    rule: "requests below limits are Burstable",
    pod: pod({ requests: { ...both, cpu: "500m" }, limits: both }),
    qos: "Burstable",
  },
  {
    rule: "init containers count too",
    pod: fakePod({ spec: { containers: [{ resources: full }], initContainers: [fakeContainer({}, "i")] } }),
    qos: "Burstable",
  },
  {
    rule: "pod-level resources alone decide",
    pod: fakePod({ spec: { containers: [{}], resources: full } }),
    qos: "Guaranteed",
  },
  {
    rule: "pod-level requests without limits are Burstable",
    pod: fakePod({ spec: { containers: [{ resources: full }], resources: { requests: both } } }),
    qos: "Burstable",
  },
  {
    rule: "pod-level limits need both",
    pod: fakePod({ spec: { resources: { requests: { cpu: "1" }, limits: { cpu: "1" } } } }),
    qos: "Burstable",
  },
];

describe("computeQos", () => {
  for (const row of rows) it(row.rule, () => assert.equal(computeQos(row.pod), row.qos));

  it("uses containers with the gate off", () => {
    const gated = fakePod({ spec: { containers: [{}], resources: full } });
    assert.equal(computeQos(gated, { podLevel: false }), "BestEffort");
  });

  it("is Guaranteed only if every container has limits equal to its requests in sum, BestEffort only without any", () => {
    const amount = fc.constantFrom(undefined, "0", "1", "2");
    const list = fc
      .record({ cpu: amount, memory: amount })
      .map((r) => Object.fromEntries(Object.entries(r).filter(([, v]) => v !== undefined)));
    const requirements = fc.array(fc.record({ requests: list, limits: list }), {
      minLength: 1,
      maxLength: 3,
    });
    fc.assert(
      fc.property(requirements, (all) => {
        const qos = computeQos(pod(...(all as ResourceRequirements[])));
        const positive = all
          .flatMap((r) => [...Object.values(r.requests), ...Object.values(r.limits)])
          .some((v) => Number(v) > 0);
        const everyLimit = all.every(
          (r) => Number(r.limits.cpu ?? 0) > 0 && Number(r.limits.memory ?? 0) > 0,
        );
        assert.equal(qos === "BestEffort", !positive);
        if (qos === "Guaranteed") assert.ok(everyLimit);
      }),
    );
  });
});

describe("podQos", () => {
  it("keeps the class of the status", () => {
    const settled = { ...pod(full), status: { qosClass: "Burstable" } };
    assert.equal(podQos(settled), "Burstable");
    assert.equal(podQos(pod(full)), "Guaranteed");
  });
});
