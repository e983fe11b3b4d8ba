import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { type Logger, silentLogger } from "../../../lib/base/logger.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import { CgroupfsManager } from "./cgroup-manager.ts";
import { FakeCgroupFilesystem } from "./fake-cgroup-filesystem.ts";
import { createPodCgroups } from "./pod-cgroups.ts";
import { QosCgroups } from "./qos-cgroups.ts";

const pod = (uid: string, cpu: string): Pod =>
  fakePod({
    metadata: { uid: uid as PodUid },
    spec: { containers: [{ resources: { requests: { cpu } } }] },
  });

async function setUp(t: { after(fn: () => void): void }) {
  const clock = new FakeClock();
  const filesystem = new FakeCgroupFilesystem();
  const state = { pods: [] as Pod[], synced: true, errors: [] as unknown[] };
  const logger: Logger = { ...silentLogger, error: (_, fields) => state.errors.push(fields?.err) };
  const qosCgroups = new QosCgroups({
    cgroups: createPodCgroups({
      manager: new CgroupfsManager(filesystem),
      cgroupsPerQos: true,
      cgroupRoot: "/",
      limits: {
        cpuCfsQuota: true,
        cpuCfsQuotaPeriodUs: 100_000n,
        podPidsLimit: -1n,
        podLevelResources: true,
        memoryQos: false,
        memoryReservationPolicy: "None",
        hugepageSizes: [],
      },
      logger: silentLogger,
    }),
    activePods: () => state.pods,
    initialSync: { isComplete: () => state.synced },
    clock,
    logger,
  });
  const stop = new AbortController();
  t.after(() => stop.abort());
  await qosCgroups.cgroups.start();
  await qosCgroups.start(stop.signal);
  return {
    clock,
    filesystem,
    state,
    qosCgroups,
    shares: () => filesystem.cgroups.get("/kubepods/burstable")?.cpuShares,
  };
}

test("the CPU shares of the Burstable cgroup are the sum of its pods' requests", async (t) => {
  const { clock, state, qosCgroups, shares } = await setUp(t);
  state.pods = [pod("a", "500m"), pod("b", "1")];
  for (const each of state.pods) await qosCgroups.cgroups.ensure(each);
  await clock.advance(0);
  assert.equal(shares(), 1536n);
  state.pods = [pod("b", "1")];
  await qosCgroups.cgroups.remove("a" as PodUid);
  await clock.advance(0);
  assert.equal(shares(), 1024n);
});

test("limits that do not change are written every minute only", async (t) => {
  const { clock, filesystem, state, qosCgroups } = await setUp(t);
  state.pods = [pod("a", "500m")];
  await qosCgroups.cgroups.ensure(state.pods[0]!);
  await clock.advance(0);
  const written: string[] = [];
  const { update } = filesystem;
  t.mock.method(filesystem, "update", (path: string, resources: object) => {
    written.push(path);
    return update.call(filesystem, path, resources);
  });
  const bestEffort = fakePod({ metadata: { uid: "b" as PodUid } });
  state.pods = [...state.pods, bestEffort];
  await qosCgroups.cgroups.ensure(bestEffort);
  await clock.advance(0);
  const ofQosCgroups = () => written.filter((path) => !path.includes("/pod"));
  assert.deepEqual(ofQosCgroups(), []);
  await clock.advance(60_000);
  assert.deepEqual(ofQosCgroups(), ["/kubepods", "/kubepods/burstable", "/kubepods/besteffort"]);
});

test("limits that could not be written are written again with the next pod", async (t) => {
  const { clock, filesystem, state, qosCgroups, shares } = await setUp(t);
  state.pods = [pod("a", "500m")];
  const { update } = filesystem;
  let fails = true;
  t.mock.method(filesystem, "update", (path: string, resources: object) => {
    if (fails && path === "/kubepods/burstable") throw new Error("EIO");
    return update.call(filesystem, path, resources);
  });
  await qosCgroups.cgroups.ensure(state.pods[0]!);
  await clock.advance(0);
  assert.deepEqual(state.errors, ["EIO"]);
  fails = false;
  await qosCgroups.cgroups.remove("other" as PodUid);
  await clock.advance(0);
  assert.equal(shares(), 512n);
});

test("CPU shares that another process has changed are restored within a minute", async (t) => {
  const { clock, filesystem, state, shares } = await setUp(t);
  state.pods = [pod("a", "2")];
  await filesystem.update("/kubepods/burstable", { cpuShares: 7n });
  await filesystem.update("/kubepods/besteffort", { cpuShares: 7n });
  await clock.advance(59_000);
  assert.equal(shares(), 7n);
  await clock.advance(1_000);
  assert.equal(shares(), 2048n);
  assert.equal(filesystem.cgroups.get("/kubepods/besteffort")?.cpuShares, 2n);
});

test("CPU shares are not updated until the pod sources have synced", async (t) => {
  const { clock, filesystem, state, shares } = await setUp(t);
  await filesystem.update("/kubepods/burstable", { cpuShares: 4000n });
  state.synced = false;
  await clock.advance(120_000);
  assert.equal(shares(), 4000n);
  state.synced = true;
  await clock.advance(60_000);
  assert.equal(shares(), 2n);
});

test("a failed update is logged, and retried a minute later", async (t) => {
  const { clock, filesystem, state, shares } = await setUp(t);
  state.pods = [pod("a", "1")];
  filesystem.updateError = new Error("EINVAL");
  await clock.advance(60_000);
  assert.deepEqual(state.errors, ["EINVAL"]);
  filesystem.updateError = undefined;
  await clock.advance(60_000);
  assert.equal(shares(), 1024n);
});
