import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fakeNode, fakeSettings } from "../../src/kubelet/pipeline/pod-runtime/config/fake-context.ts";
import { buildContainerResources } from "../../src/kubelet/pipeline/pod-runtime/config/resources.ts";
import { podCgroupLimits } from "../../src/kubelet/resources/cgroups/limits.ts";
import type { CgroupResources } from "../../src/lib/host/cgroups/cgroup-filesystem.ts";
import { FakeUnified } from "../../src/lib/host/cgroups/fake-unified.ts";
import { CgroupV2 } from "../../src/lib/host/cgroups/v2.ts";
import { podQos } from "../../src/lib/model/qos.ts";
import { kernelValues } from "./kernel-values.ts";
import {
  limitSettings,
  podOf,
  type ReferenceContainer,
  type ReferenceLimits,
  type ReferencePod,
  referenceHost,
  referencePods,
} from "./reference-pods.ts";

/** Expected values were computed by the functions of the reference kubelet: see README.md. */
describe("the reference kubelet's cgroup values", () => {
  for (const row of referencePods) {
    const pod = podOf(row, "p", "u");
    const { podLevelResources: podLevel } = row.settings;
    it(`pod: ${row.rule}`, () => {
      if (podLevel) assert.equal(podQos(pod, { podLevel }), row.qos);
      const { cpuWeight: _, ...v2 } = row.v2.pod;
      assert.deepEqual(plain(podCgroupLimits(pod, limitSettings(row.settings, 1))), row.v1.pod);
      const { cpuShares: __, ...own } = plain(podCgroupLimits(pod, limitSettings(row.settings, 2)));
      assert.deepEqual(own, v2);
    });
    // parity: field singleProcessOOMKill as singleProcessOomKill, field memorySwap.swapBehavior as swapBehavior, field memoryThrottlingFactor, field memoryReservationPolicy
    for (const version of [1, 2] as const)
      it(`containers on v${version}: ${row.rule}`, () => {
        const { containers } = version === 1 ? row.v1 : row.v2;
        for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers])
          assert.deepEqual(containerValues(row, container.name, version), containers[container.name]);
      });
  }
});

describe("the files of cgroup v2", () => {
  let dir: string;
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), "unified-"));
  });
  after(() => rm(dir, { recursive: true }));

  it("have the reference kubelet's values", async () => {
    const files = await new FakeUnified(dir).start("cpu memory pids hugetlb");
    const driver = new CgroupV2({ root: dir, files });
    for (const [index, row] of referencePods.entries()) {
      const path = `/kubepods/pod${index}`;
      await driver.create(path, podCgroupLimits(podOf(row, "p", "u"), limitSettings(row.settings, 2)));
      const read = (name: string) => readFile(join(dir, path, name), "utf8");
      for (const [name, want] of Object.entries(kernelValues(2, row.v2.pod)))
        assert.equal(inPages(name, await read(name)), want, `${row.rule}: ${name}`);
      assert.equal(await read("hugetlb.2MB.max"), String(row.v2.pod.hugepages["2MB"]), row.rule);
    }
  });
});

/** The kernel rounds down to whole pages. */
function inPages(name: string, text: string): string {
  return name.startsWith("memory.") && /^\d+$/.test(text)
    ? String(Number(text) - (Number(text) % 4096))
    : text;
}

function plain({ hugepages, unified, ...rest }: CgroupResources) {
  const numbers = Object.entries(rest).map(([name, value]) => [name, Number(value)]);
  return {
    ...(Object.fromEntries(numbers) as Pick<ReferenceLimits, "cpuShares">),
    hugepages: Object.fromEntries([...(hugepages ?? [])].map(([size, bytes]) => [size, Number(bytes)])),
    ...(unified && { unified }),
  };
}

function containerValues(row: ReferencePod, name: string, version: 1 | 2): ReferenceContainer {
  const pod = podOf(row, "p", "u");
  const container = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].find(
    (c) => c.name === name,
  )!;
  const { settings: s } = row;
  const built = buildContainerResources(pod, container, {
    node: {
      ...fakeNode,
      memoryCapacity: BigInt(referenceHost.memoryBytes),
      swapCapacity: BigInt(referenceHost.swapBytes),
      allocatable: { memory: referenceHost.allocatableMemory },
      cgroupVersion: version,
      swapAccounting: true,
      hugepageSizes: ["2MB", "1GB"],
    },
    settings: {
      ...fakeSettings,
      cpuCfsQuota: s.cpuCFSQuota,
      cpuCfsQuotaPeriodUs: BigInt(s.cpuCFSQuotaPeriodUs),
      swapBehavior: s.swapBehavior,
      singleProcessOomKill: s.singleProcessOOMKill,
      memoryThrottlingFactor: s.memoryThrottlingFactor,
      memoryReservationPolicy: s.memoryReservationPolicy,
      gates: { ...fakeSettings.gates, podLevelResources: s.podLevelResources, memoryQos: s.memoryQoS },
    },
  });
  const { hugepageLimits = [], unified = {}, ...numbers } = built;
  const set = Object.entries(numbers).flatMap(([key, value]) =>
    typeof value === "bigint" && (value !== 0n || key === "oomScoreAdj") ? [[key, Number(value)]] : [],
  );
  return {
    ...(Object.fromEntries(set) as unknown as ReferenceContainer),
    hugepageLimits: Object.fromEntries(hugepageLimits.map((each) => [each.pageSize, Number(each.limit)])),
    ...(Object.keys(unified).length > 0 && { unified: unified as Record<string, string> }),
  };
}
