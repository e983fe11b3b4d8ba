import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { fakeContainer, fakePod } from "./fake-pod.ts";
import type { Container, Pod } from "./pod.ts";
import {
  amountsOf,
  hugepageAmounts,
  hugepageBytes,
  hugepageUnit,
  limitsByStep,
  maxCpuShares,
  milliCpuToQuota,
  milliCpuToShares,
  milliOf,
  minCpuShares,
  podLimits,
  podRequests,
  quotaToMilliCpu,
  sharesToMilliCpu,
  wholeOf,
} from "./resources.ts";

const cpu = (request: string, limit = request) => ({
  resources: { requests: { cpu: request }, limits: { cpu: limit } },
});
const init = (request: string, restartPolicy?: string): Container =>
  fakeContainer({ ...cpu(request), restartPolicy }, "i");
const sidecar = (request: string) => init(request, "Always");

const rows: { rule: string; pod: Pod; milli: bigint }[] = [
  {
    rule: "the requests of containers add up",
    pod: fakePod({ spec: { containers: [cpu("100m"), cpu("200m")] } }),
    milli: 300n,
  },
  {
    rule: "the largest init container counts if it requests more than all containers together",
    pod: fakePod({ spec: { containers: [cpu("100m")], initContainers: [init("500m"), init("300m")] } }),
    milli: 500n,
  },
  {
    rule: "a small init container changes nothing",
    pod: fakePod({ spec: { containers: [cpu("100m")], initContainers: [init("50m")] } }),
    milli: 100n,
  },
  {
    rule: "the requests of sidecars and containers add up",
    pod: fakePod({ spec: { containers: [cpu("100m")], initContainers: [sidecar("50m")] } }),
    milli: 150n,
  },
  {
    rule: "the requests of an init container and of the sidecars before it add up",
    pod: fakePod({ spec: { containers: [cpu("100m")], initContainers: [sidecar("50m"), init("200m")] } }),
    milli: 250n,
  },
  {
    rule: "sidecars after an init container do not add to its requests",
    pod: fakePod({ spec: { containers: [cpu("100m")], initContainers: [init("200m"), sidecar("50m")] } }),
    milli: 200n,
  },
  {
    rule: "overhead is added to the requests",
    pod: fakePod({ spec: { containers: [cpu("100m")], overhead: { cpu: "10m" } } }),
    milli: 110n,
  },
  {
    rule: "pod-level requests replace those of the containers, before overhead",
    pod: fakePod({
      spec: { containers: [cpu("100m")], overhead: { cpu: "10m" }, resources: { requests: { cpu: "1" } } },
    }),
    milli: 1010n,
  },
];

describe("podRequests", () => {
  for (const { rule, pod, milli } of rows)
    it(rule, () => assert.equal(milliOf(podRequests(pod), "cpu"), milli));

  it("excludes overhead with excludeOverhead", () => {
    const pod = fakePod({ spec: { containers: [cpu("100m")], overhead: { cpu: "10m" } } });
    assert.equal(milliOf(podRequests(pod, { excludeOverhead: true }), "cpu"), 100n);
  });
  it("ignores pod-level resources if the feature gate is disabled", () => {
    const pod = fakePod({ spec: { containers: [cpu("100m")], resources: { requests: { cpu: "1" } } } });
    assert.equal(milliOf(podRequests(pod, { podLevel: false }), "cpu"), 100n);
  });
  it("ignores unsupported pod-level resources", () => {
    const pod = fakePod({ spec: { resources: { requests: { cpu: "1", "example.com/gpu": "3" } } } });
    assert.deepEqual([...podRequests(pod).keys()], ["cpu"]);
  });
  it("fails with the name of a resource whose quantity is invalid", () => {
    const pod = fakePod({ spec: { containers: [{ resources: { requests: { memory: "1QQ" } } }] } });
    assert.throws(() => podRequests(pod), /memory: "1QQ" is not a quantity/);
  });
});

describe("podLimits", () => {
  it("adds overhead only to limited resources", () => {
    const pod = fakePod({ spec: { containers: [cpu("100m")], overhead: { cpu: "10m", memory: "1Mi" } } });
    assert.equal(milliOf(podLimits(pod), "cpu"), 110n);
    assert.equal(podLimits(pod).has("memory"), false);
  });
  it("has, by step, the limits of each init container and the sidecars before it", () => {
    const spec = {
      containers: [cpu("1")],
      initContainers: [sidecar("50m"), init("200m"), fakeContainer({}, "free")],
    };
    const steps = limitsByStep(fakePod({ spec })).map((step) => milliOf(step, "cpu"));
    assert.deepEqual(steps, [1000n, 50n, 250n, 50n]);
  });
});

describe("CPU conversions", () => {
  const shares: [bigint, bigint][] = [
    [0n, 2n],
    [1n, 2n],
    [2n, 2n],
    [50n, 51n],
    [100n, 102n],
    [1000n, 1024n],
    [300_000n, 262_144n],
  ];
  for (const [milli, want] of shares) {
    it(`${milli}m is ${want} shares`, () => assert.equal(milliCpuToShares(milli), want));
  }
  const quotas: [bigint, bigint, bigint][] = [
    [0n, 100_000n, 0n],
    [1n, 100_000n, 1000n],
    [200n, 100_000n, 20_000n],
    [1500n, 50_000n, 75_000n],
  ];
  for (const [milli, period, want] of quotas) {
    it(`${milli}m in a period of ${period} is a quota of ${want}`, () =>
      assert.equal(milliCpuToQuota(milli, period), want));
  }
  it("shares are converted to millicores rounded up, and the minimum means no request", () => {
    assert.equal(sharesToMilliCpu(51n), 50n);
    assert.equal(sharesToMilliCpu(1n), 0n);
    assert.equal(quotaToMilliCpu(-1n, 100_000n), 0n);
    assert.equal(quotaToMilliCpu(20_000n, 100_000n), 200n);
  });
  it("shares are always within the kernel's bounds", () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 12n), (milli) => {
        const result = milliCpuToShares(milli);
        return result >= minCpuShares && result <= maxCpuShares;
      }),
    );
  });
});

describe("amounts", () => {
  it("round up to whole units", () => {
    const amounts = amountsOf({ memory: "1500m", cpu: "0.0001" });
    assert.equal(wholeOf(amounts, "memory"), 2n);
    assert.equal(milliOf(amounts, "cpu"), 1n);
    assert.equal(wholeOf(amounts, "none"), 0n);
  });
  it("of huge pages are keyed by the kernel's page size names", () => {
    assert.equal(hugepageBytes("hugepages-2Mi"), 2n ** 21n);
    assert.equal(hugepageBytes("memory"), undefined);
    assert.deepEqual([2n ** 16n, 2n ** 21n, 2n ** 30n].map(hugepageUnit), ["64KB", "2MB", "1GB"]);
    const amounts = amountsOf({ "hugepages-2Mi": "4Mi", "hugepages-2048Ki": "2Mi", cpu: "1" });
    assert.deepEqual([...hugepageAmounts(amounts)], [["2MB", 6n * 2n ** 20n]]);
  });
});
