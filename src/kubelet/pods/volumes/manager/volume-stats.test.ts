import assert from "node:assert/strict";
import { it } from "node:test";
import { FakeClock } from "../../../../lib/base/fake-clock.ts";
import type { PodUid } from "../../../../lib/model/pod.ts";
import type { VolumeUsage } from "../volume-plugin.ts";
import type { MountedVolume } from "./volume-manager.ts";
import { VolumeStats } from "./volume-stats.ts";

const uid = "a" as PodUid;

it("a volume that does not answer holds up no other, is asked once, and counts when it answers", async () => {
  const clock = new FakeClock();
  const answers: ((usage: VolumeUsage) => void)[] = [];
  const volume = (name: string, stats: () => Promise<VolumeUsage>) =>
    ({
      name,
      dir: `/${name}`,
      path: `/${name}`,
      kind: "mount",
      spec: { volume: {} },
      plugin: { stats },
    }) as unknown;
  const volumes = [
    volume("quick", async () => ({ usedBytes: 1 })),
    volume("stuck", () => new Promise((resolve) => answers.push(resolve))),
  ] as MountedVolume[];
  const stats = new VolumeStats({
    clock,
    mountedVolumes: () => volumes,
    mounts: { at: async () => undefined },
    guard: { run: (_, work) => work() },
    maxAgeMs: 10_000,
  });
  const told = async () => {
    const generation = stats.stats(uid);
    await clock.advance(1_000);
    return Object.fromEntries((await generation).map(({ name, usedBytes }) => [name, usedBytes]));
  };
  assert.deepEqual(await told(), { quick: 1 });
  await clock.advance(10_000);
  assert.deepEqual(await told(), { quick: 1 });
  assert.equal(answers.length, 1, "one call hangs, not one for each who asks");
  answers[0]!({ usedBytes: 7 });
  await clock.advance(10_000);
  assert.deepEqual(await told(), { quick: 1, stuck: 7 }, "as it was last known");
  assert.equal(answers.length, 2);
  answers[1]!({ usedBytes: 8 });
  await clock.advance(10_000);
  const generation = told();
  answers[2]!({ usedBytes: 9 });
  assert.equal((await generation).stuck, 9, "one that answers in time is told as it is now");
});

it("pods that are gone are not remembered, whoever still asks for them", async () => {
  let volumes = [
    {
      name: "v",
      dir: "/v",
      path: "/v",
      kind: "mount",
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

it("a volume that is not healthy is reported each time that it is measured", async () => {
  const clock = new FakeClock();
  let usage: VolumeUsage = { usedBytes: 1, healthy: true };
  const mounted = (name: string) =>
    ({ name, dir: `/${name}`, path: `/${name}`, kind: "mount", spec: { volume: {} } }) as MountedVolume;
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
