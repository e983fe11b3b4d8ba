import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Logger, silentLogger } from "../../../lib/base/logger.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { CgroupfsManager } from "./cgroup-manager.ts";
import { FakeCgroupFilesystem } from "./fake-cgroup-filesystem.ts";
import type { LimitSettings } from "./limits.ts";
import { createPodCgroups, type PodCgroupsOptions } from "./pod-cgroups.ts";

const uid = "u-1" as PodUid;
const burstable = fakePod({
  metadata: { uid },
  spec: { containers: [{ resources: { requests: { cpu: "500m" } } }] },
});
const bestEffort = fakePod({ metadata: { uid: "u-2" as PodUid } });

const limits: LimitSettings = {
  cpuCfsQuota: true,
  cpuCfsQuotaPeriodUs: 100_000n,
  podPidsLimit: -1n,
  podLevelResources: true,
  memoryQos: false,
  memoryReservationPolicy: "None",
  hugepageSizes: [],
};

function setUp(over: Partial<PodCgroupsOptions> = {}) {
  const filesystem = new FakeCgroupFilesystem();
  const cgroups = createPodCgroups({
    manager: new CgroupfsManager(filesystem),
    cgroupsPerQos: true,
    cgroupRoot: "/",
    limits,
    logger: silentLogger,
    ...over,
  });
  return { filesystem, cgroups };
}

describe("pod cgroups", () => {
  it("start with a root and two QoS cgroups", async () => {
    const { filesystem, cgroups } = setUp();
    await cgroups.start();
    assert.deepEqual(
      [...filesystem.cgroups.keys()],
      ["/kubepods", "/kubepods/burstable", "/kubepods/besteffort"],
    );
    assert.equal(filesystem.cgroups.get("/kubepods/besteffort")?.cpuShares, 2n);
  });
  it("keep the CPU shares of the Burstable cgroup across a restart", async () => {
    const { filesystem, cgroups } = setUp();
    await filesystem.create("/kubepods/burstable", { cpuShares: 4000n });
    await cgroups.start();
    assert.equal(filesystem.cgroups.get("/kubepods/burstable")?.cpuShares, 4000n);
  });
  it("are created below their QoS cgroup with their limits, once", async () => {
    const { filesystem, cgroups } = setUp();
    await cgroups.start();
    assert.equal(cgroups.parentFor(burstable), "/kubepods/burstable/podu-1");
    assert.equal(await cgroups.exists(burstable), false);
    await cgroups.ensure(burstable);
    assert.equal(await cgroups.exists(burstable), true);
    assert.equal(filesystem.cgroups.get("/kubepods/burstable/podu-1")?.cpuShares, 512n);
    await filesystem.update("/kubepods/burstable/podu-1", { cpuShares: 9n });
    await cgroups.ensure(burstable);
    assert.equal(filesystem.cgroups.get("/kubepods/burstable/podu-1")?.cpuShares, 9n);
  });
  it("of a previous agent get their limits once: it may have been killed before it had set all of them", async () => {
    const { filesystem, cgroups } = setUp();
    await filesystem.create("/kubepods/burstable/podu-1", {});
    await cgroups.ensure(burstable);
    assert.equal(filesystem.cgroups.get("/kubepods/burstable/podu-1")?.cpuShares, 512n);
  });
  it("of pods that only wait for their volumes get the minimum CPU shares", async () => {
    const { filesystem, cgroups } = setUp();
    await cgroups.ensure(burstable);
    await cgroups.reduceCpu(uid);
    assert.equal(filesystem.cgroups.get("/kubepods/burstable/podu-1")?.cpuShares, 2n);
    assert.equal(filesystem.cgroups.size, 1);
  });
  it("are created without a limit that the kernel rejects, and it is logged", async () => {
    const lines: string[] = [];
    const logger: Logger = {
      ...silentLogger,
      error: (message, fields) => lines.push(`${message}: ${fields?.err}`),
    };
    const { filesystem, cgroups } = setUp({ logger });
    filesystem.updateError = new Error("EINVAL");
    await cgroups.ensure(burstable);
    assert.equal(await cgroups.exists(burstable), true);
    assert.deepEqual(lines, ["Failed to set limit of pod cgroup: EINVAL"]);
  });
  it("are listed and removed by UID, in any QoS cgroup", async () => {
    const { filesystem, cgroups } = setUp();
    await cgroups.start();
    await cgroups.ensure(burstable);
    await cgroups.ensure(bestEffort);
    await filesystem.create("/kubepods/podu-1/container", {});
    assert.deepEqual(new Set(await cgroups.list()), new Set(["u-1", "u-2"]));
    await cgroups.remove(uid);
    assert.deepEqual(await cgroups.list(), ["u-2"]);
    assert.deepEqual(
      [...filesystem.cgroups.keys()].filter((name) => name.includes("podu-1")),
      [],
    );
  });
  it("lose containers that the runtime does not know, with either driver's names, and nothing else", async () => {
    const { filesystem, cgroups } = setUp();
    await cgroups.ensure(burstable);
    const [known, stray, other] = ["a", "b", "c"].map((digit) => digit.repeat(64)) as [
      string,
      string,
      string,
    ];
    const base = "/kubepods/burstable/podu-1";
    for (const name of [known, stray, `cri-containerd-${other}.scope`, "own"])
      await filesystem.create(`${base}/${name}`, {});
    assert.deepEqual(await cgroups.removeUnknown(burstable, new Set([known])), [
      stray,
      `cri-containerd-${other}.scope`,
    ]);
    assert.deepEqual(await filesystem.children(base), [known, "own"]);
    assert.deepEqual(await cgroups.removeUnknown(burstable, new Set([known])), []);
  });
  it("share the CPU between the QoS cgroups by the requests of the running pods", async () => {
    const { filesystem, cgroups } = setUp();
    await cgroups.start();
    await cgroups.updateQos([burstable, bestEffort, burstable]);
    assert.equal(filesystem.cgroups.get("/kubepods/burstable")?.cpuShares, 1024n);
    await cgroups.updateQos([]);
    assert.equal(filesystem.cgroups.get("/kubepods/burstable")?.cpuShares, 2n);
  });
  for (const [rule, allocatableMemory, usage, busy, want] of [
    ["have the memory that is left to their class", 1000n, 500n, false, 900n],
    ["are kept from growing if they use more memory than is left to them", 1000n, 950n, true, 950n],
    ["are kept from growing if nothing is left to them", 50n, 950n, false, 950n],
  ] as const)
    it(`of QoS classes ${rule}`, async (t) => {
      const requests = { cpu: "1", memory: "100" };
      const guaranteed = fakePod({ spec: { containers: [{ resources: { requests, limits: requests } }] } });
      const { filesystem, cgroups } = setUp({
        limits: { ...limits, qosReserved: { memoryPercent: 100n, allocatableMemory } },
        memoryUsage: async () => usage,
      });
      await cgroups.start();
      const { update } = filesystem;
      t.mock.method(filesystem, "update", async (path: string, resources: { memory?: bigint }) => {
        if (busy && (resources.memory ?? usage) < usage) throw new Error("EBUSY");
        await update.call(filesystem, path, resources);
      });
      await cgroups.updateQos([guaranteed]);
      const memory = ["", "/burstable", "/besteffort"].map(
        (name) => filesystem.cgroups.get(`/kubepods${name}`)?.memory,
      );
      assert.deepEqual(memory, [undefined, want, want]);
    });
  // parity: field cgroupRoot
  it("are below cgroupRoot, which must exist with the controllers that pods need", async () => {
    const { filesystem, cgroups } = setUp({ cgroupRoot: "/node" });
    await assert.rejects(cgroups.start(), /cgroupRoot: "\/node" doesn't exist/);
    await filesystem.create("/node", {});
    filesystem.missing = ["cpuset", "hugetlb"];
    await assert.rejects(
      cgroups.start(),
      /cgroupRoot: "\/node" has some missing controllers: cpuset, hugetlb/,
    );
    filesystem.missing = [];
    await cgroups.start();
    assert.equal(cgroups.parentFor(bestEffort), "/node/kubepods/besteffort/podu-2");
  });
  it("fail to start if the kubepods cgroup does not have the controllers that pods need", async () => {
    const { filesystem, cgroups } = setUp();
    filesystem.missing = ["memory"];
    await assert.rejects(cgroups.start(), /cgroup "\/kubepods" has some missing controllers: memory \(/);
  });
  // parity: field cgroupsPerQOS as cgroupsPerQos
  it("are not created with cgroupsPerQOS off", async () => {
    const { filesystem, cgroups } = setUp({ cgroupsPerQos: false, cgroupRoot: "/custom" });
    await cgroups.start();
    await cgroups.ensure(burstable);
    await cgroups.updateQos([burstable]);
    await cgroups.remove(uid);
    assert.equal(cgroups.parentFor(burstable), "/custom");
    assert.deepEqual(
      [await cgroups.exists(burstable), await cgroups.list(), filesystem.cgroups.size],
      [true, [], 0],
    );
  });
});
