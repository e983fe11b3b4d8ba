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
    mayEnd: () => true,
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

test("what cannot be removed keeps nothing else, and is tried again the next time", async (t) => {
  let heard = false;
  const swept: number[][] = [];
  const { clock, removed, fails } = await setUp(t, {
    isSynced: () => heard,
    metrics: { swept: (...counts) => void swept.push(counts) },
  });
  fails.add("files of a").add("cgroup of a");
  heard = true;
  await clock.advance(2000);
  assert.deepEqual(swept, [[2, 1]], "found, and not removed");
  assert.deepEqual(removed.splice(0), ["files of b", "cgroup of b", "dead links"]);
  fails.clear();
  await clock.advance(60_000);
  assert.ok(removed.includes("files of a") && removed.includes("cgroup of a"));
});

test("looks at once when it may have become known who is wanted", async (t) => {
  let heard = false;
  const ended: string[] = [];
  const { clock, housekeeping } = await setUp(t, {
    isSynced: () => heard,
    inRuntime: () => [id("orphan")],
    onOrphan: ({ uid }) => void ended.push(uid),
  });
  await clock.advance(0);
  assert.deepEqual(ended, []);
  heard = true;
  housekeeping.runSoon();
  await clock.advance(0);
  assert.deepEqual(ended, ["orphan"]);
});

test("what is in the runtime, or wanted again, is left alone", async (t) => {
  const { clock, removed } = await setUp(t, {
    isKnown: (uid) => uid === "a",
    inRuntime: () => [id("b")],
  });
  await clock.advance(10_000);
  assert.deepEqual(removed, ["dead links"]);
});

test("ends when told to, with no timer left", async (t) => {
  const { clock, stop, housekeeping } = await setUp(t);
  await clock.advance(1000);
  stop.abort();
  await housekeeping.done;
  assert.equal(clock.pending, 0);
});

test("nothing is called an orphan before all sources have delivered; then it is ended, once known no more", async () => {
  const clock = new FakeClock();
  const orphans: string[] = [];
  const removed: string[] = [];
  let isSynced = false;
  const known = new Set(["wanted"]);
  const id = (uid: string) => ({ uid: uid as PodUid, name: uid, namespace: "default" });
  const stop = new AbortController();
  const housekeeping = new Housekeeping({
    clock,
    logger: silentLogger,
    isSynced: () => isSynced,
    isKnown: (uid) => known.has(uid),
    inRuntime: () => [id("wanted"), id("stray"), id("others")],
    mayEnd: (uid) => uid !== "others",
    removesOrphans: true,
    onOrphan: (p) => {
      orphans.push(p.uid);
      known.add(p.uid);
    },
    files: {
      known: async () => [id("wanted"), id("stray"), id("others"), id("old")],
      remove: async (p) => void removed.push(`files of ${p.uid}`),
      removeDeadLinks: async () => {},
    },
    cgroups: {
      list: async () => ["wanted" as PodUid, "older" as PodUid],
      remove: async (uid) => void removed.push(`cgroup of ${uid}`),
    },
  });
  await housekeeping.start(stop.signal);
  await clock.advance(60_000);
  assert.deepEqual([orphans, removed], [[], []]);
  isSynced = true;
  await clock.advance(10_000);
  assert.deepEqual(orphans, ["stray"]);
  assert.deepEqual(removed, ["files of old", "cgroup of older"]);
  stop.abort();
  await housekeeping.done;
});
