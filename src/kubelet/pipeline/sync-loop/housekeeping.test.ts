import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { Housekeeping, type HousekeepingOptions } from "./housekeeping.ts";

const id = (uid: string) => ({ uid: uid as PodUid, name: uid, namespace: "default" });

async function setUp(t: TestContext, more: Partial<HousekeepingOptions> = {}) {
  const clock = new FakeClock();
  const removed: string[] = [];
  const fails = new Set<string>();
  const stop = new AbortController();
  const remove = async (what: string) => {
    if (fails.has(what)) throw new Error(`${what} cannot be removed`);
    removed.push(what);
  };
  const housekeeping = new Housekeeping({
    clock,
    logger: silentLogger,
    isSynced: () => true,
    mayTerminate: () => true,
    removesOrphans: true,
    isKnown: () => false,
    inRuntime: () => [],
    onOrphan: () => {},
    files: {
      known: async () => [id("a"), id("b")],
      remove: (pod) => remove(`files of ${pod.uid}`),
      removeDeadLinks: () => remove("dead links"),
    },
    cgroups: {
      list: async () => ["a" as PodUid, "b" as PodUid],
      remove: (uid) => remove(`cgroup of ${uid}`),
      reduceCpu: async (uid) => void removed.push(`CPU of ${uid}`),
    },
    ...more,
  });
  await housekeeping.start(stop.signal);
  t.after(async () => {
    stop.abort();
    await housekeeping.done;
  });
  return { clock, removed, fails, stop, housekeeping };
}

test("a failed removal does not prevent others, and is retried in the next round", async (t) => {
  let isSynced = false;
  const cleanedUp: number[][] = [];
  const { clock, removed, fails } = await setUp(t, {
    isSynced: () => isSynced,
    metrics: { cleanedUp: (...counts) => void cleanedUp.push(counts) },
  });
  fails.add("files of a");
  isSynced = true;
  await clock.advance(2000);
  assert.deepEqual(cleanedUp, [[2, 1]], "found, and failed");
  assert.deepEqual(removed.splice(0), ["files of b", "CPU of a", "cgroup of b", "dead links"]);
  fails.clear();
  await clock.advance(60_000);
  assert.ok(removed.includes("files of a") && removed.includes("cgroup of a"));
});

test("runSoon runs a round without delay", async (t) => {
  let isSynced = false;
  const terminated: string[] = [];
  const { clock, housekeeping } = await setUp(t, {
    isSynced: () => isSynced,
    inRuntime: () => [id("orphan")],
    onOrphan: ({ uid }) => void terminated.push(uid),
  });
  await clock.advance(0);
  assert.deepEqual(terminated, []);
  isSynced = true;
  housekeeping.runSoon();
  await clock.advance(0);
  assert.deepEqual(terminated, ["orphan"]);
});

test("files of pods in the runtime, and of known pods, are kept", async (t) => {
  const { clock, removed } = await setUp(t, {
    isKnown: (uid) => uid === "a",
    inRuntime: () => [id("b")],
  });
  await clock.advance(10_000);
  assert.deepEqual(removed, ["dead links"]);
});

test("stops on abort, with no timer left", async (t) => {
  const { clock, stop, housekeeping } = await setUp(t);
  await clock.advance(1000);
  stop.abort();
  await housekeeping.done;
  assert.equal(clock.pending, 0);
});

test("nothing is an orphan before the initial sync is complete; then orphans are terminated and their files removed", async () => {
  const clock = new FakeClock();
  const orphans: string[] = [];
  const removed: string[] = [];
  let isSynced = false;
  const known = new Set(["desired"]);
  const id = (uid: string) => ({ uid: uid as PodUid, name: uid, namespace: "default" });
  const stop = new AbortController();
  const housekeeping = new Housekeeping({
    clock,
    logger: silentLogger,
    isSynced: () => isSynced,
    isKnown: (uid) => known.has(uid),
    inRuntime: () => [id("desired"), id("orphan"), id("others")],
    mayTerminate: (uid) => uid !== "others",
    removesOrphans: true,
    onOrphan: (p) => {
      orphans.push(p.uid);
      known.add(p.uid);
    },
    files: {
      known: async () => [id("desired"), id("orphan"), id("others"), id("old")],
      remove: async (p) => void removed.push(`files of ${p.uid}`),
      removeDeadLinks: async () => {},
    },
    cgroups: {
      list: async () => ["desired" as PodUid, "older" as PodUid],
      remove: async (uid) => void removed.push(`cgroup of ${uid}`),
      reduceCpu: async () => {},
    },
  });
  await housekeeping.start(stop.signal);
  await clock.advance(60_000);
  assert.deepEqual([orphans, removed], [[], []]);
  isSynced = true;
  await clock.advance(10_000);
  assert.deepEqual(orphans, ["orphan"]);
  assert.deepEqual(removed, ["files of old", "cgroup of older"]);
  stop.abort();
  await housekeeping.done;
});

test("a cgroup is kept, with the minimum CPU, while the volumes of its pod cannot be removed", async (t) => {
  let isSynced = false;
  const { clock, removed, fails } = await setUp(t, { isSynced: () => isSynced });
  fails.add("files of b");
  isSynced = true;
  await clock.advance(2000);
  assert.deepEqual(removed.splice(0), ["files of a", "cgroup of a", "CPU of b", "dead links"]);
  fails.clear();
  await clock.advance(60_000);
  assert.ok(removed.includes("cgroup of b"));
});

test("a cgroup that cannot be removed does not prevent the removal of others", async (t) => {
  let isSynced = false;
  const { clock, removed, fails } = await setUp(t, { isSynced: () => isSynced });
  fails.add("cgroup of a");
  isSynced = true;
  await clock.advance(2000);
  assert.deepEqual(removed, ["files of a", "files of b", "cgroup of b", "dead links"]);
});
