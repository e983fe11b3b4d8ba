import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { silentLogger } from "../../../lib/base/logger.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { EvictedPods, type EvictedPodsOptions } from "./evicted-pods.ts";
import { decodeRecord, type Eviction } from "./record.ts";

const uid = (text: string) => text as PodUid;
const low: Eviction = {
  failure: {
    phase: "Failed",
    reason: "Evicted",
    message: "The node was low on resource: memory. ",
    conditions: [{ type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet", message: "m" }],
  },
  graceSeconds: 1,
};

function setUp(t: TestContext, more: Partial<EvictedPodsOptions> = {}) {
  const rootDir = mkdtempSync(join(tmpdir(), "evicted-pods-"));
  t.after(() => rmSync(rootDir, { recursive: true }));
  const path = join(rootDir, "evicted-pods.json");
  const evicted: PodUid[] = [];
  const create = (changed: Partial<EvictedPodsOptions> = {}) =>
    new EvictedPods({
      rootDir,
      logger: silentLogger,
      onEvicted: (id) => evicted.push(id),
      ...more,
      ...changed,
    });
  return { path, evicted, create, onDisk: () => [...decodeRecord(readFileSync(path, "utf8")).keys()] };
}

test("an eviction is on disk before its event is posted, and known to the next agent", async (t) => {
  const { create, evicted, onDisk } = setUp(t);
  const pods = create();
  await pods.start();
  const done = pods.evict(uid("a"), low);
  assert.deepEqual(evicted, []);
  await done;
  assert.deepEqual([onDisk(), evicted], [["a"], ["a"]]);
  const next = create();
  await next.start();
  assert.deepEqual(next.get(uid("a")), low);
  assert.deepEqual(evicted, ["a"], "its event is not posted again: the worker of the pod reads it");
});

test("a pod is evicted once: the first reason is kept", async (t) => {
  const { create, evicted } = setUp(t);
  const pods = create();
  await pods.evict(uid("a"), low);
  await pods.evict(uid("a"), { failure: { ...low.failure, reason: "Preempting" } });
  assert.deepEqual(evicted, ["a"]);
  assert.equal(pods.get(uid("a"))?.failure.reason, "Evicted");
});

test("a static pod may run again after a reboot, others and those of this boot may not", async (t) => {
  const isStatic = (id: string) => id === "static";
  const { create, onDisk } = setUp(t, { bootId: "boot-1", isStatic });
  const pods = create();
  for (const id of ["static", "api"]) await pods.evict(uid(id), low);
  const sameBoot = create();
  await sameBoot.start();
  assert.deepEqual(sameBoot.all(), ["static", "api"]);
  const afterReboot = create({ bootId: "boot-2" });
  await afterReboot.start();
  assert.deepEqual(afterReboot.all(), ["api"]);
  await afterReboot.flushed();
  assert.deepEqual(onDisk(), ["api"]);
  const unknownBoot = create({ bootId: "" });
  await unknownBoot.start();
  assert.deepEqual(unknownBoot.all(), ["api"]);
});

test("the record of a pod is removed when the pod is gone, or unknown at housekeeping", async (t) => {
  const { create, onDisk } = setUp(t);
  const pods = create();
  for (const id of ["a", "b", "c"]) await pods.evict(uid(id), low);
  pods.forget(uid("a"));
  pods.forget(uid("z"));
  pods.keepOnly((id) => id === "c");
  await pods.flushed();
  assert.deepEqual(onDisk(), ["c"]);
});

test("a pod is evicted even if the disk is full", async (t) => {
  const write = () => Promise.reject(new Error("ENOSPC: no space left on device"));
  const { create, evicted } = setUp(t, { write });
  await create().evict(uid("a"), low);
  assert.deepEqual(evicted, ["a"]);
});

const broken: [content: string, problem: RegExp][] = [
  ["", /not JSON/],
  ["null", /version undefined is not 1/],
  ['{"version":2,"pods":[]}', /version 2 is not 1/],
  ['{"version":1}', /pods: not a list/],
  ['{"version":1,"pods":[{}]}', /pods\[0\]\.uid: not a UID/],
  [
    '{"version":1,"pods":[{"uid":"a","failure":{"reason":"r","message":"m"},"bootId":7}]}',
    /pods\[0\]\.bootId: not a string/,
  ],
  ['{"version":1,"pods":[{"uid":"a","failure":{}}]}', /pods\[0\]\.failure: has no reason/],
];
for (const [content, problem] of broken)
  test(`a broken file (${content}) is logged, and the agent starts without it`, async (t) => {
    const logged: unknown[] = [];
    const logger = { ...silentLogger, error: (...args: unknown[]) => logged.push(args) };
    const { create, path } = setUp(t, { logger });
    writeFileSync(path, content);
    const pods = create();
    await pods.start();
    assert.match(JSON.stringify(logged), problem);
    await pods.evict(uid("a"), low);
    assert.ok(decodeRecord(readFileSync(path, "utf8")).has(uid("a")));
  });
