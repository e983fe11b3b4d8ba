import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../../test/builders/pods.ts";
import { assertGrowth } from "../../../../test/growth.ts";
import type { PodSpec } from "../../../lib/model/pod.ts";
import type { PodStats } from "../../../lib/model/stats-summary.ts";
import { exceededStorageLimit, limitsStorage } from "./local-storage.ts";

const time = "2026-01-01T00:00:00Z";
const mi = 2 ** 20;
const limited = (name: string, limit: string) => ({
  name,
  image: "i",
  resources: { limits: { "ephemeral-storage": limit } },
});
const used = (name: string, rootfs: number, logs: number) => ({
  name,
  startTime: time,
  rootfs: { time, usedBytes: rootfs },
  logs: { time, usedBytes: logs },
});
const scratch = { volumes: [{ name: "scratch", emptyDir: { sizeLimit: "1Mi" } }] };
const plain = { containers: [{ name: "a", image: "i" }] };

const table: [rule: string, PodSpec, Partial<PodStats>, dedicated: boolean, expected: string | undefined][] =
  [
    [
      "a volume may use its limit",
      { ...plain, ...scratch },
      { volume: [{ name: "scratch", time, usedBytes: mi }] },
      false,
      undefined,
    ],
    [
      "a volume may not use more",
      { ...plain, ...scratch },
      { volume: [{ name: "scratch", time, usedBytes: mi + 1 }] },
      false,
      'emptydirfs.limit: Usage of EmptyDir volume "scratch" exceeds the limit "1Mi". ',
    ],
    [
      "a volume in memory neither",
      { ...plain, volumes: [{ name: "m", emptyDir: { medium: "Memory", sizeLimit: "1000k" } }] },
      { volume: [{ name: "m", time, usedBytes: mi }] },
      false,
      'emptydirfs.limit: Usage of EmptyDir volume "m" exceeds the limit "1M". ',
    ],
    [
      "a limit of zero is none",
      { ...plain, volumes: [{ name: "s", emptyDir: { sizeLimit: "0" } }] },
      { volume: [{ name: "s", time, usedBytes: mi }] },
      false,
      undefined,
    ],
    [
      "a pod may not use more than all of its containers may",
      { containers: [limited("a", "1Mi"), limited("b", "1Mi")] },
      { "ephemeral-storage": { time, usedBytes: 2 * mi + 1 } },
      false,
      "ephemeralpodfs.limit: Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. ",
    ],
    [
      "a container may not use more than its own",
      { containers: [limited("a", "1Mi"), limited("b", "1Gi")] },
      { containers: [used("a", mi, 1), used("b", 0, 0)], "ephemeral-storage": { time, usedBytes: mi + 1 } },
      false,
      'ephemeralcontainerfs.limit: Container a exceeded its local ephemeral storage limit "1Mi". ',
    ],
    [
      "layers on a dedicated imagefs do not count for a container",
      { containers: [limited("a", "1Mi")] },
      { containers: [used("a", mi, 1)] },
      true,
      undefined,
    ],
  ];
for (const [rule, spec, stats, dedicatedImageFs, expected] of table)
  test(rule, () => {
    const pod = aPod(spec);
    const { name, namespace, uid } = pod.metadata;
    const all = { podRef: { name, namespace, uid }, startTime: time, containers: [], ...stats };
    const found = exceededStorageLimit(pod, all, { dedicatedImageFs });
    assert.equal(found && `${found.signal}: ${found.message}`, expected);
  });

test("only pods with such a limit have to be measured", () => {
  assert.equal(limitsStorage(aPod({ ...plain, ...scratch })), true);
  assert.equal(limitsStorage(aPod({ containers: [limited("a", "1Mi")] })), true);
  assert.equal(limitsStorage(aPod({ ...plain, volumes: [{ name: "s", emptyDir: {} }] })), false);
});

test("the usage of any number of volumes is compared in linear time", () =>
  assertGrowth(1, 200, (size) => {
    const names = Array.from({ length: size }, (_, index) => `volume-${index}`);
    const volumes = names.map((name) => ({ name, emptyDir: { sizeLimit: "1Gi" } }));
    const pod = aPod({ containers: [], volumes });
    const stats = {
      podRef: { name: "p", namespace: "default", uid: "u" },
      startTime: "",
      containers: [],
      volume: names.map((name) => ({ name, time: "", usedBytes: 1 })),
    } as unknown as PodStats;
    return () => exceededStorageLimit(pod, stats, { dedicatedImageFs: false });
  }));
