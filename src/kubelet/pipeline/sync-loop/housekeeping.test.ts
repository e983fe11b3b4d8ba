import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { type Fields, silentLogger } from "../../../lib/base/logger.ts";
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
    initialSync: { isComplete: () => true },
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
    initialSync: { isComplete: () => isSynced },
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

test("what a pod left behind is removed within seconds, and a failure is logged once", async (t) => {
  const pods = ["a"];
  const lines: string[] = [];
  const log = (message: string, fields: Fields = {}) => void lines.push(`${message}: ${fields.podUID}`);
  const logger = { ...silentLogger, info: log, warn: log };
  const removed: string[] = [];
  const busy = new Set<string>();
  const { clock } = await setUp(t, {
    logger,
    files: {
      known: async () => pods.map(id),
      remove: async ({ uid }) => {
        if (busy.has(uid)) throw new Error("busy");
        pods.splice(pods.indexOf(uid), 1);
        removed.push(`files of ${uid}`);
      },
      removeDeadLinks: async () => {},
    },
    cgroups: { list: async () => [], remove: async () => {}, reduceCpu: async () => {} },
  });
  await clock.advance(1000);
  assert.deepEqual(removed.splice(0), ["files of a"]);
  pods.push("late");
  busy.add("late");
  await clock.advance(10_000);
  assert.deepEqual(lines.slice(1), [
    "Cleaning up orphaned pod: late",
    "Failed to clean up orphaned pod: late",
  ]);
  busy.clear();
  await clock.advance(2000);
  assert.deepEqual(removed, ["files of late"]);
});

test("files that take long to remove do not delay the termination of orphans", async (t) => {
  const terminated: string[] = [];
  const release = Promise.withResolvers<void>();
  let running: string[] = [];
  const { clock } = await setUp(t, {
    inRuntime: () => running.map(id),
    onOrphan: ({ uid }) => void terminated.push(uid),
    files: {
      known: async () => [id("a")],
      remove: () => release.promise,
      removeDeadLinks: async () => {},
    },
  });
  await clock.advance(0);
  running = ["orphan"];
  await clock.advance(2000);
  assert.deepEqual(terminated, ["orphan"]);
  release.resolve();
});

test("runSoon runs a round without delay", async (t) => {
  let isSynced = false;
  const terminated: string[] = [];
  const { clock, housekeeping } = await setUp(t, {
    initialSync: { isComplete: () => isSynced },
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
    initialSync: { isComplete: () => isSynced },
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
  await clock.advance(2000);
  assert.deepEqual(orphans, ["orphan"]);
  assert.deepEqual(removed, ["files of old", "cgroup of older"]);
  stop.abort();
  await housekeeping.done;
});

test("a cgroup is kept, with the minimum CPU, while the volumes of its pod cannot be removed", async (t) => {
  let isSynced = false;
  const { clock, removed, fails } = await setUp(t, { initialSync: { isComplete: () => isSynced } });
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
  const { clock, removed, fails } = await setUp(t, { initialSync: { isComplete: () => isSynced } });
  fails.add("cgroup of a");
  isSynced = true;
  await clock.advance(2000);
  assert.deepEqual(removed, ["files of a", "files of b", "cgroup of b", "dead links"]);
});
