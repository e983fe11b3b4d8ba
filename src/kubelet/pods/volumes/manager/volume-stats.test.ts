import assert from "node:assert/strict";
import { it } from "node:test";
import { FakeClock } from "../../../../lib/base/fake-clock.ts";
import type { Counted } from "../../../../lib/host/disk-usage.ts";
import type { PodUid } from "../../../../lib/model/pod.ts";
import type { VolumeUsage } from "../volume-plugin.ts";
import type { MountedVolume } from "./volume-manager.ts";
import { VolumeStats } from "./volume-stats.ts";

const uid = "a" as PodUid;

it("a volume that hangs blocks no other, is measured once, and its late response is used", async () => {
  const clock = new FakeClock();
  const responses: ((usage: VolumeUsage) => void)[] = [];
  const volume = (name: string, stats: () => Promise<VolumeUsage>) =>
    ({
      name,
      dir: `/${name}`,
      path: `/${name}`,
      volumeMode: "Filesystem",
      spec: { volume: {} },
      plugin: { stats },
    }) as unknown;
  const volumes = [
    volume("quick", async () => ({ usedBytes: 1 })),
    volume("stuck", () => new Promise((resolve) => responses.push(resolve))),
  ] as MountedVolume[];
  const stats = new VolumeStats({
    clock,
    mountedVolumes: () => volumes,
    mounts: { at: async () => undefined },
    guard: { run: (_, work) => work() },
    maxAgeMs: 10_000,
  });
  const usedBytes = async () => {
    const result = stats.stats(uid);
    await clock.advance(1_000);
    return Object.fromEntries((await result).map(({ name, usedBytes: bytes }) => [name, bytes]));
  };
  assert.deepEqual(await usedBytes(), { quick: 1 });
  await clock.advance(10_000);
  assert.deepEqual(await usedBytes(), { quick: 1 });
  assert.equal(responses.length, 1, "one call hangs, not one per request");
  responses[0]!({ usedBytes: 7 });
  await clock.advance(10_000);
  assert.deepEqual(await usedBytes(), { quick: 1, stuck: 7 }, "the last known value");
  assert.equal(responses.length, 2);
  responses[1]!({ usedBytes: 8 });
  await clock.advance(10_000);
  const current = usedBytes();
  responses[2]!({ usedBytes: 9 });
  assert.equal((await current).stuck, 9, "a response in time is returned");
});

it("a plugin that does not respond is aborted after 30 seconds", async () => {
  const clock = new FakeClock();
  let signal: AbortSignal | undefined;
  const plugin = {
    stats: (_target: unknown, _spec: unknown, given: AbortSignal) => {
      signal = given;
      return new Promise(() => {});
    },
  };
  const volume = { name: "v", dir: "/v", path: "/v", volumeMode: "Filesystem", spec: { volume: {} }, plugin };
  const stats = new VolumeStats({
    clock,
    mountedVolumes: () => [volume as unknown as MountedVolume],
    mounts: { at: async () => undefined },
    guard: { run: (_, work) => work() },
    maxAgeMs: 10_000,
  });
  void stats.stats(uid);
  await clock.advance(29_999);
  assert.equal(signal?.aborted, false);
  await clock.advance(1);
  assert.equal(signal.aborted, true);
});

it("pods that are gone are not cached, even when their stats are requested", async () => {
  let volumes = [
    {
      name: "v",
      dir: "/v",
      path: "/v",
      volumeMode: "Filesystem",
      spec: { volume: {} },
      plugin: { stats: async () => ({ usedBytes: 1 }) },
    },
  ] as unknown as MountedVolume[];
  const stats = new VolumeStats({
    clock: new FakeClock(),
    mountedVolumes: () => volumes,
    mounts: { at: async () => undefined },
    guard: { run: (_, work) => work() },
    maxAgeMs: 10_000,
  });
  assert.equal((await stats.stats(uid)).length, 1);
  assert.equal(stats.size, 1);
  volumes = [];
  stats.delete(uid);
  assert.deepEqual(await stats.stats(uid), []);
  assert.equal(stats.size, 0);
});

// parity: field volumeStatsAggPeriod
it("volumes are not measured if volumeStatsAggPeriod disables it", async () => {
  const stats = new VolumeStats({
    clock: new FakeClock(),
    mountedVolumes: () => assert.fail("volumes were requested"),
    mounts: { at: async () => undefined },
    guard: { run: (_, work) => work() },
    maxAgeMs: undefined,
  });
  assert.deepEqual(await stats.stats(uid), []);
});

it("an abnormal volume is reported each time that it is measured", async () => {
  const clock = new FakeClock();
  let usage: VolumeUsage = { usedBytes: 1, healthy: true };
  const mounted = (name: string) =>
    ({
      name,
      dir: `/${name}`,
      path: `/${name}`,
      volumeMode: "Filesystem",
      spec: { volume: {} },
    }) as MountedVolume;
  const reported: unknown[] = [];
  const stats = new VolumeStats({
    clock,
    mountedVolumes: () => [
      { ...mounted("data"), plugin: { stats: async () => usage } as unknown as MountedVolume["plugin"] },
    ],
    mounts: { at: async () => undefined },
    guard: { run: (_, work) => work() },
    maxAgeMs: 10_000,
    onAbnormal: (...args) => reported.push(args),
  });
  await stats.stats(uid);
  assert.deepEqual(reported, []);
  usage = { usedBytes: 1, healthy: false, message: "disk is gone" };
  for (let round = 0; round < 2; round++) {
    await clock.advance(10_000);
    await Promise.all([stats.stats(uid), stats.stats(uid)]);
  }
  assert.deepEqual(reported, [
    [uid, "data", "disk is gone"],
    [uid, "data", "disk is gone"],
  ]);
});

it("files that are counted so far are usage, even if a container prevents the end of the count", async () => {
  const clock = new FakeClock();
  const counts: Counted[] = [];
  const ends: ((usage: Counted) => void)[] = [];
  const volume = {
    name: "data",
    dir: "/",
    path: "/",
    volumeMode: "Filesystem",
    spec: { volume: { emptyDir: {} } },
    plugin: { name: "kubernetes.io/empty-dir" },
  } as unknown as MountedVolume;
  const started = Promise.withResolvers<void>();
  const stats = new VolumeStats({
    clock,
    mountedVolumes: () => [volume],
    mounts: { at: async () => undefined },
    guard: { run: (_, work) => work() },
    maxAgeMs: 10_000,
    diskUsage: (_dir, { counted } = {}) => {
      counts.push(counted!);
      started.resolve();
      return new Promise((resolve) => ends.push(resolve));
    },
  });
  const usage = async () => {
    const result = stats.stats(uid);
    await started.promise;
    await clock.advance(1_000);
    return (await result).map(({ usedBytes, inodesUsed }) => [usedBytes, inodesUsed]);
  };
  const advance = () => clock.advance(10_000);
  assert.deepEqual(await usage(), [[0, 0]]);
  Object.assign(counts[0]!, { bytes: 5_000_000, inodes: 70 });
  await advance();
  assert.deepEqual(await usage(), [[5_000_000, 70]]);
  assert.equal(counts.length, 1);
  ends[0]!({ bytes: 9_000_000, inodes: 90 });
  // The size of the filesystem is read in between.
  let last: unknown;
  do {
    await advance();
    last = await usage();
  } while (JSON.stringify(last) === "[[5000000,70]]");
  assert.deepEqual(last, [[9_000_000, 90]]);
});
