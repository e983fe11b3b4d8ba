import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CgroupResources } from "../../../lib/host/cgroups/cgroup-filesystem.ts";
import { type FakeContainer, fakeContainer, fakePod } from "../../../lib/model/fake-pod.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import { type LimitSettings, podCgroupLimits, qosCgroupLimits } from "./limits.ts";

const settings: LimitSettings = {
  cpuCfsQuota: true,
  cpuCfsQuotaPeriodUs: 100_000n,
  podPidsLimit: -1n,
  podLevelResources: true,
  memoryQos: false,
  memoryReservationPolicy: "None",
  hugepageSizes: [],
};
const mi = 1024n * 1024n;
const guaranteed: FakeContainer = {
  resources: { requests: { cpu: "100m", memory: "32Mi" }, limits: { cpu: "100m", memory: "32Mi" } },
};
const wholeCpu: FakeContainer = {
  resources: { requests: { cpu: "1", memory: "32Mi" }, limits: { cpu: "1", memory: "32Mi" } },
};
const burstable: FakeContainer = {
  resources: { requests: { cpu: "50m", memory: "16Mi" }, limits: { cpu: "200m", memory: "64Mi" } },
};
const pod = (...containers: FakeContainer[]) => fakePod({ spec: { containers } });

describe("podCgroupLimits", () => {
  const rows: { rule: string; pod: Pod; want: CgroupResources; over?: Partial<LimitSettings> }[] = [
    {
      rule: "Guaranteed is bounded in both",
      pod: pod(guaranteed, guaranteed),
      want: { cpuShares: 204n, cpuQuota: 20_000n, cpuPeriod: 100_000n, memory: 64n * mi },
    },
    {
      rule: "Burstable is bounded where every container is",
      pod: pod(burstable, { resources: { limits: { memory: "1Mi" } } }),
      want: { cpuShares: 51n, memory: 65n * mi },
    },
    {
      rule: "an init container without limits makes the pod unlimited",
      pod: fakePod({ spec: { containers: [burstable], initContainers: [fakeContainer({}, "i")] } }),
      want: { cpuShares: 51n },
    },
    { rule: "BestEffort gets the least CPU and no bounds", pod: pod({}), want: { cpuShares: 2n } },
    {
      rule: "pod-level limits apply regardless of what the containers specify",
      pod: fakePod({
        spec: {
          containers: [{}],
          resources: { requests: { cpu: "1" }, limits: { cpu: "2", memory: "1Gi" } },
        },
      }),
      want: { cpuShares: 1024n, cpuQuota: 200_000n, cpuPeriod: 100_000n, memory: 1024n * mi },
    },
    {
      rule: "overhead is part of the pod",
      pod: fakePod({ spec: { containers: [guaranteed], overhead: { cpu: "100m", memory: "8Mi" } } }),
      want: { cpuShares: 204n, cpuQuota: 20_000n, cpuPeriod: 100_000n, memory: 40n * mi },
    },
    {
      rule: "there is no quota if cpuCFSQuota is off",
      pod: pod(guaranteed),
      over: { cpuCfsQuota: false },
      want: { cpuShares: 102n, cpuQuota: -1n, cpuPeriod: 100_000n, memory: 32n * mi },
    },
    {
      rule: "there is no quota if a container has exclusive CPUs",
      pod: pod(guaranteed, wholeCpu),
      over: { noQuotaOnExclusiveCpus: true },
      want: { cpuShares: 1126n, cpuQuota: -1n, cpuPeriod: 100_000n, memory: 64n * mi },
    },
    ...(
      [
        ["is none if all its CPUs are exclusive to containers", [wholeCpu, wholeCpu], -1n],
        ["remains if a container shares its CPUs", [wholeCpu, {}], 200_000n],
      ] as const
    ).map(([what, containers, cpuQuota]) => ({
      rule: `the quota of a pod with pod-level resources ${what}`,
      pod: fakePod({
        spec: {
          containers: [...containers],
          resources: { requests: { cpu: "2", memory: "1Mi" }, limits: { cpu: "2", memory: "1Mi" } },
        },
      }),
      over: { noQuotaOnExclusiveCpus: true, podLevelManagers: "pod" as const },
      want: { cpuShares: 2048n, cpuQuota, cpuPeriod: 100_000n, memory: mi },
    })),
    {
      rule: "there is a quota if no container has exclusive CPUs",
      pod: pod(guaranteed),
      over: { noQuotaOnExclusiveCpus: true },
      want: { cpuShares: 102n, cpuQuota: 10_000n, cpuPeriod: 100_000n, memory: 32n * mi },
    },
    {
      rule: "the period is configurable",
      pod: pod(guaranteed),
      over: { cpuCfsQuotaPeriodUs: 10_000n },
      want: { cpuShares: 102n, cpuQuota: 1_000n, cpuPeriod: 10_000n, memory: 32n * mi },
    },
    {
      rule: "podPidsLimit applies to the pod",
      pod: pod({}),
      over: { podPidsLimit: 100n },
      want: { cpuShares: 2n, pids: 100n },
    },
    {
      rule: "requested memory is protected under MemoryQoS with tiered reservation",
      pod: pod(guaranteed),
      over: { memoryQos: true, memoryReservationPolicy: "TieredReservation" },
      want: {
        cpuShares: 102n,
        cpuQuota: 10_000n,
        cpuPeriod: 100_000n,
        memory: 32n * mi,
        unified: { "memory.min": String(32n * mi) },
      },
    },
  ];
  // parity: gate PodLevelResources=true as podLevelResources
  for (const { rule, pod, want, over } of rows) {
    it(rule, () => {
      const { hugepages, ...rest } = podCgroupLimits(pod, { ...settings, ...over });
      assert.deepEqual(rest, want);
      assert.equal(hugepages?.size, 0);
    });
  }
  it("page sizes that are not requested have limit 0", () => {
    const limits = podCgroupLimits(pod({ resources: { requests: { "hugepages-2Mi": "4Mi" } } }), {
      ...settings,
      hugepageSizes: ["2MB", "1GB"],
    });
    assert.deepEqual(
      [...limits.hugepages!],
      [
        ["2MB", 4n * mi],
        ["1GB", 0n],
      ],
    );
  });
});

describe("qosCgroupLimits", () => {
  it("Burstable has the CPU that its pods request, BestEffort the minimum", () => {
    const limits = qosCgroupLimits([pod(burstable), pod(burstable), pod(guaranteed), pod({})], {
      ...settings,
      hugepageSizes: ["2MB"],
    });
    assert.equal(limits.burstable.cpuShares, 102n);
    assert.equal(limits.bestEffort.cpuShares, 2n);
    assert.equal(limits.root.cpuShares, undefined);
    for (const cgroup of Object.values(limits)) assert.equal(cgroup.hugepages.get("2MB"), 1n << 62n);
  });
  it("Burstable has the minimum if it has no pods", () =>
    assert.equal(qosCgroupLimits([], settings).burstable.cpuShares, 2n));
  it("MemoryQoS protects the memory that the pods of a QoS class request, and in the root that of both classes", () => {
    const limits = qosCgroupLimits([pod(burstable), pod(guaranteed)], {
      ...settings,
      memoryQos: true,
      memoryReservationPolicy: "TieredReservation",
    });
    assert.deepEqual(limits.root.unified, { "memory.min": String(48n * mi) });
    assert.deepEqual(limits.burstable.unified, { "memory.low": String(16n * mi) });
  });
  // parity: field qosReserved, gate QOSReserved=true
  for (const [memoryPercent, burstableMi, bestEffortMi] of [
    [100n, 68n, 52n],
    [50n, 84n, 76n],
    [0n, 100n, 100n],
  ] as const)
    it(`qosReserved of ${memoryPercent} % of the requested memory limits the classes below`, () => {
      const qosReserved = { memoryPercent, allocatableMemory: 100n * mi };
      const limits = qosCgroupLimits([pod(burstable), pod(guaranteed), pod({})], {
        ...settings,
        qosReserved,
      });
      assert.deepEqual(
        [limits.root.memory, limits.burstable.memory, limits.bestEffort.memory],
        [undefined, burstableMi * mi, bestEffortMi * mi],
      );
    });
  it("a node without a known amount of memory reserves none", () => {
    const qosReserved = { memoryPercent: 50n, allocatableMemory: 0n };
    const limits = qosCgroupLimits([pod(burstable)], { ...settings, qosReserved });
    assert.equal("memory" in limits.burstable, false);
  });
  // parity: gate QOSReserved=false
  it("without the gate QOSReserved no memory is reserved", () => {
    const { burstable: limits, bestEffort } = qosCgroupLimits([pod(guaranteed), pod(burstable)], settings);
    assert.deepEqual([limits.memory, bestEffort.memory], [undefined, undefined]);
  });
});
