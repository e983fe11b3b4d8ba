import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fakeContainer, fakePod } from "../../../../lib/model/fake-pod.ts";
import type { Container, PodSpec } from "../../../../lib/model/pod.ts";
import type { NodeInfo, RuntimeSettings } from "./context.ts";
import { fakeNode, fakeSettings } from "./fake-context.ts";
import { oomScoreAdj } from "./oom-score.ts";
import { buildContainerResources, buildOverhead, buildSandboxResources } from "./resources.ts";

const mi = 1024n * 1024n;
const gi = 1024n * mi;
const v2: Partial<NodeInfo> = { cgroupVersion: 2, swapAccounting: true };
const burstable: Partial<Container> = {
  resources: { requests: { cpu: "100m", memory: "1Gi" }, limits: { memory: "2Gi" } },
};

interface Input {
  container?: Partial<Container>;
  spec?: Partial<PodSpec>;
  node?: Partial<NodeInfo>;
  settings?: Partial<RuntimeSettings>;
}

function build({ container = {}, spec = {}, node, settings }: Input) {
  const pod = fakePod({ spec: { ...spec, containers: [container] } });
  const ctx = { node: { ...fakeNode, ...node }, settings: { ...fakeSettings, ...settings } };
  return buildContainerResources(pod, pod.spec.containers[0]!, ctx) as Record<string, unknown>;
}

const wholeCpu = { requests: { cpu: "1", memory: "1Mi" }, limits: { cpu: "1", memory: "1Mi" } };
const memoryQos = { gates: { ...fakeSettings.gates, memoryQos: true } };

describe("container resources", () => {
  const rows: { rule: string; given: Input; key: string; want: unknown }[] = [
    {
      rule: "a container without a CPU request has the minimum shares",
      given: {},
      key: "cpuShares",
      want: 2n,
    },
    { rule: "a CPU request sets shares", given: { container: burstable }, key: "cpuShares", want: 102n },
    {
      rule: "a limit is the default of a missing request",
      given: { container: { resources: { limits: { cpu: "1" } } } },
      key: "cpuShares",
      want: 1024n,
    },
    {
      rule: "a request of 0 is not missing",
      given: { container: { resources: { requests: { cpu: "0" }, limits: { cpu: "1" } } } },
      key: "cpuShares",
      want: 2n,
    },
    {
      rule: "a limit sets a quota",
      given: { container: { resources: { limits: { cpu: "1500m" } } } },
      key: "cpuQuota",
      want: 150_000n,
    },
    { rule: "there is no quota without a limit", given: {}, key: "cpuQuota", want: 0n },
    {
      rule: "the quota can be disabled",
      given: { settings: { cpuCfsQuota: false } },
      key: "cpuPeriod",
      want: undefined,
    },
    {
      rule: "exclusive CPUs have no quota",
      given: { container: { resources: wholeCpu }, settings: { noQuotaOnExclusiveCpus: true } },
      key: "cpuQuota",
      want: -1n,
    },
    {
      rule: "exclusive CPUs have a quota with the gate off",
      given: { container: { resources: wholeCpu } },
      key: "cpuQuota",
      want: 100_000n,
    },
    ...(
      [
        ["without exclusive CPUs of pods", "off", wholeCpu, "2", 100_000n],
        ["with whole CPUs of its own", "pod", wholeCpu, "2", -1n],
        ["with whole CPUs of its own, in the container scope", "container", wholeCpu, "2500m", -1n],
        ["that shares the CPUs of its pod", "pod", { limits: { cpu: "1" } }, "2", 100_000n],
        ["of a pod without whole CPUs", "pod", wholeCpu, "2500m", 100_000n],
      ] as const
    ).map(([which, podLevelManagers, resources, cpu, want]) => ({
      rule: `the quota of a container ${which}, in a pod with pod-level resources`,
      given: {
        container: { resources },
        spec: { resources: { requests: { cpu, memory: "1Gi" }, limits: { cpu, memory: "1Gi" } } },
        settings: { noQuotaOnExclusiveCpus: true, podLevelManagers },
      },
      key: "cpuQuota",
      want,
    })),
    {
      rule: "a container of a Burstable pod has a quota",
      given: {
        container: { resources: { limits: { cpu: "1" } } },
        settings: { noQuotaOnExclusiveCpus: true },
      },
      key: "cpuQuota",
      want: 100_000n,
    },
    {
      rule: "the pod's limit bounds a container without one",
      given: { spec: { resources: { limits: { cpu: "2" } } } },
      key: "cpuQuota",
      want: 200_000n,
    },
    {
      rule: "the pod's limit is ignored with the gate off",
      given: {
        spec: { resources: { limits: { cpu: "2" } } },
        settings: { gates: { ...fakeSettings.gates, podLevelResources: false } },
      },
      key: "cpuQuota",
      want: 0n,
    },
    { rule: "memory is limited", given: { container: burstable }, key: "memoryLimitInBytes", want: 2n * gi },
    {
      rule: "v1 allows no swap above memory",
      given: { container: burstable, node: { swapAccounting: true } },
      key: "memorySwapLimitInBytes",
      want: 2n * gi,
    },
    {
      rule: "v1 without swap accounting has no swap limit",
      given: { container: burstable },
      key: "memorySwapLimitInBytes",
      want: undefined,
    },
    {
      rule: "v2 allows no swap",
      given: { container: burstable, node: v2 },
      key: "unified",
      want: { "memory.swap.max": "0" },
    },
    {
      rule: "LimitedSwap allows swap in proportion to the memory request",
      given: {
        container: burstable,
        node: { ...v2, swapCapacity: 4n * gi },
        settings: { swapBehavior: "LimitedSwap" },
      },
      key: "unified",
      want: { "memory.swap.max": String(512n * mi) },
    },
    {
      rule: "LimitedSwap does not apply if memory request and limit are equal",
      given: {
        container: { resources: { requests: { memory: "1Gi" }, limits: { memory: "1Gi" } } },
        node: { ...v2, swapCapacity: 4n * gi },
        settings: { swapBehavior: "LimitedSwap" },
      },
      key: "unified",
      want: { "memory.swap.max": "0" },
    },
    {
      rule: "LimitedSwap does not apply to critical pods",
      given: {
        container: burstable,
        spec: { priority: 2_000_000_000 },
        node: { ...v2, swapCapacity: 4n * gi },
        settings: { swapBehavior: "LimitedSwap" },
      },
      key: "unified",
      want: { "memory.swap.max": "0" },
    },
    {
      rule: "v2 kills whole containers on OOM",
      given: { node: { cgroupVersion: 2 }, settings: { singleProcessOomKill: false } },
      key: "unified",
      want: { "memory.oom.group": "1" },
    },
    {
      rule: "v1 does not kill whole containers on OOM",
      given: { settings: { singleProcessOomKill: false } },
      key: "unified",
      want: {},
    },
    {
      rule: "MemoryQoS throttles below the limit",
      given: { container: burstable, node: { cgroupVersion: 2 }, settings: memoryQos },
      key: "unified",
      want: {
        "memory.min": "0",
        "memory.low": "0",
        "memory.high": String(((gi + (gi * 9n) / 10n) / 4096n) * 4096n),
      },
    },
    {
      rule: "MemoryQoS without a limit uses the node's memory",
      given: {
        container: { resources: { requests: { memory: "1Gi" } } },
        node: { cgroupVersion: 2 },
        settings: memoryQos,
      },
      key: "unified",
      want: {
        "memory.min": "0",
        "memory.low": "0",
        "memory.high": String(((gi + (6n * gi * 9n) / 10n) / 4096n) * 4096n),
      },
    },
    {
      rule: "MemoryQoS protects the request with TieredReservation",
      given: {
        container: { resources: { requests: { memory: "1Gi" }, limits: { memory: "1Gi" } } },
        node: { cgroupVersion: 2 },
        settings: { ...memoryQos, memoryReservationPolicy: "TieredReservation" },
      },
      key: "unified",
      want: { "memory.low": String(gi) },
    },
    {
      rule: "MemoryQoS does not apply to v1",
      given: { container: burstable, settings: memoryQos },
      key: "unified",
      want: {},
    },
    {
      rule: "every page size has a limit, the container's overrides the pod's",
      given: {
        container: { resources: { limits: { "hugepages-2Mi": "4Mi" } } },
        spec: { resources: { limits: { "hugepages-2Mi": "8Mi", "hugepages-1Gi": "1Gi" } } },
        node: { hugepageSizes: ["64KB", "2MB", "1GB"] },
      },
      key: "hugepageLimits",
      want: [
        { pageSize: "64KB", limit: 0n },
        { pageSize: "2MB", limit: 4n * mi },
        { pageSize: "1GB", limit: gi },
      ],
    },
  ];
  // parity: gate DisableCPUQuotaWithExclusiveCPUs=true as noQuotaOnExclusiveCpus, gate DisableCPUQuotaWithExclusiveCPUs=false as noQuotaOnExclusiveCpus, gate MemoryQoS=true as memoryQos, gate MemoryQoS=false as memoryQos, gate NodeSwap=true as swapBehavior
  for (const { rule, given, key, want } of rows) it(rule, () => assert.deepEqual(build(given)[key], want));
});

describe("sandbox resources", () => {
  const ctx = { node: fakeNode, settings: fakeSettings };
  const pod = fakePod({
    spec: {
      containers: [{ resources: { requests: { cpu: "100m" }, limits: { cpu: "1", memory: "1Mi" } } }],
      overhead: { cpu: "250m", memory: "10Mi" },
    },
  });
  it("sandbox resources are those of the containers, without overhead", () => {
    assert.deepEqual(buildSandboxResources(pod, ctx), {
      cpuShares: 102n,
      cpuQuota: 100_000n,
      cpuPeriod: 100_000n,
      memoryLimitInBytes: mi,
      unified: {},
    });
  });
  it("pod overhead is a separate set of resources", () => {
    assert.deepEqual(buildOverhead(pod, ctx), {
      cpuShares: 256n,
      cpuQuota: 25_000n,
      cpuPeriod: 100_000n,
      memoryLimitInBytes: 10n * mi,
      unified: {},
    });
    assert.deepEqual(buildOverhead(fakePod(), ctx), {});
  });
});

describe("oomScoreAdj", () => {
  const memory = (amount: string): Partial<Container> => ({ resources: { requests: { memory: amount } } });
  const rows: { rule: string; spec: Parameters<typeof fakePod>[0]; name?: string; want: number }[] = [
    { rule: "BestEffort has the highest score", spec: {}, want: 1000 },
    {
      rule: "Guaranteed has the lowest score",
      spec: {
        spec: {
          containers: [
            { resources: { requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "1", memory: "1Gi" } } },
          ],
        },
      },
      want: -997,
    },
    {
      rule: "a request for half of the node's memory halves the score",
      spec: { spec: { containers: [memory("4Gi")] } },
      want: 500,
    },
    { rule: "Burstable is above Guaranteed", spec: { spec: { containers: [memory("8Gi")] } }, want: 3 },
    { rule: "Burstable is below BestEffort", spec: { spec: { containers: [memory("1")] } }, want: 999 },
    {
      rule: "a node-critical pod is treated as Guaranteed",
      spec: { spec: { priority: 2_000_001_000, priorityClassName: "system-node-critical" } },
      want: -997,
    },
    {
      rule: "a static pod is treated as Guaranteed",
      spec: {
        metadata: { annotations: { "kubernetes.io/config.source": "file" } },
        spec: { priorityClassName: "system-node-critical" },
      },
      want: -997,
    },
    {
      rule: "a priority class without its priority does not count",
      spec: { spec: { priorityClassName: "system-node-critical" } },
      want: 1000,
    },
    {
      rule: "a sidecar does not score above the containers",
      spec: {
        spec: {
          containers: [memory("4Gi"), memory("2Gi")],
          initContainers: [fakeContainer({ restartPolicy: "Always" }, "side")],
        },
      },
      name: "side",
      want: 750,
    },
    {
      rule: "an init container may score above the containers",
      spec: { spec: { containers: [memory("4Gi")], initContainers: [fakeContainer({}, "init")] } },
      name: "init",
      want: 999,
    },
    {
      rule: "the pod's request beyond those of its containers is divided among them",
      spec: { spec: { containers: [memory("1Gi"), {}], resources: { requests: { memory: "5Gi" } } } },
      want: 625,
    },
  ];
  for (const { rule, spec, name = "c0", want } of rows) {
    it(rule, () => {
      const pod = fakePod(spec);
      const container = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find(
        (c) => c.name === name,
      )!;
      assert.equal(oomScoreAdj(pod, container, 8n * gi), want);
    });
  }
});
