import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../../test/builders/pods.ts";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import type { Pod, PodUid } from "../../../lib/model/pod.ts";
import { Housekeeping } from "./housekeeping.ts";
import { type PodChange, SyncLoop } from "./sync-loop.ts";

async function setUp() {
  const clock = new FakeClock();
  const calls: string[] = [];
  const desired = new Map<PodUid, Pod>();
  const lags: number[] = [];
  const stop = new AbortController();
  const loop = new SyncLoop({
    clock,
    logger: silentLogger,
    desired: { set: (pod) => desired.set(pod.metadata.uid, pod), remove: (uid) => desired.delete(uid) },
    workers: {
      update: (pod, news) => {
        if (pod.metadata.name === "bad") throw new Error("a fault");
        const what = pod.metadata.deletionTimestamp ? " being deleted" : news === "status" ? " status" : "";
        calls.push(`update ${pod.metadata.uid}${what}`);
      },
      terminate: (uid, o) =>
        calls.push(`terminate ${uid} ${o.removed ? "removed" : "deleted"} ${o.graceSeconds ?? ""}`),
      poke: (uid) => calls.push(`poke ${uid}`),
      pokeAll: () => calls.push("poke all"),
    },
    onLag: (ms) => lags.push(ms),
  });
  await loop.start(stop.signal);
  const change = (op: PodChange["op"], ...pods: Pod[]) =>
    loop.post({ kind: "pods", change: { op, source: "file", pods } });
  return { clock, calls, desired, loop, change, stop, lags };
}

const pod = (uid: string, meta: Partial<Pod["metadata"]> = {}) => aPod({}, { uid: uid as PodUid, ...meta });

test("changes reach the desired pods and the workers, in order", async () => {
  const { calls, desired, change } = await setUp();
  change("ADD", pod("1"), pod("2"));
  change("UPDATE", pod("1"));
  change("RECONCILE", pod("1"));
  change("DELETE", pod("2", { deletionTimestamp: "2026-01-01T00:00:05Z", deletionGracePeriodSeconds: 5 }));
  change("REMOVE", pod("1", { deletionGracePeriodSeconds: 3 }));
  await settle();
  assert.deepEqual(calls, [
    "update 1",
    "update 2",
    "update 1",
    "update 1 status",
    "update 2 being deleted",
    "terminate 1 removed 3",
  ]);
  assert.deepEqual([...desired.keys()], ["2"]);
});

test("a source counts as heard when its pods were passed on, not when they were said", async () => {
  const { loop, change } = await setUp();
  change("ADD");
  assert.equal(loop.hasHeard("file"), false);
  await settle();
  assert.equal(loop.hasHeard("file"), true);
  assert.equal(loop.hasHeard("api"), false);
});

test("a fault in one event does not keep the next from being handled", async () => {
  const { calls, change } = await setUp();
  change("ADD", pod("1", { name: "bad" }));
  change("ADD", pod("2"));
  await settle();
  assert.deepEqual(calls, ["update 2"]);
});

test("a fault with one pod does not keep the others of the same change from being handled", async () => {
  const { calls, desired, change } = await setUp();
  change("ADD", pod("1", { name: "bad" }), pod("2"));
  await settle();
  assert.deepEqual(calls, ["update 2"]);
  assert.deepEqual([...desired.keys()], ["1", "2"]);
});

test("runtime events and probe results wake one worker, a runtime that is back wakes all", async () => {
  const { calls, loop } = await setUp();
  loop.post({ kind: "runtime", uid: "1" as PodUid, what: "ContainerDied" });
  loop.post({ kind: "probe", uid: "2" as PodUid, what: "liveness failure" });
  loop.post({ kind: "runtime-up" });
  await settle();
  assert.deepEqual(calls, ["poke 1", "poke 2", "poke all"]);
});

test("a loop that does not turn is unhealthy", async () => {
  const { clock, loop, stop, lags } = await setUp();
  await clock.advance(3000);
  assert.deepEqual(loop.health(), { ok: true });
  // Each tick, and what it posts.
  assert.deepEqual(lags, [0, 0, 0, 0, 0, 0]);
  stop.abort();
  await clock.advance(121_000);
  const health = loop.health();
  assert.match(health.ok ? "" : health.reason, /sync loop was last seen active 121s ago/);
});

test("nothing is called an orphan before all sources were heard; then it is ended, once known no more", async () => {
  const clock = new FakeClock();
  const orphans: string[] = [];
  const removed: string[] = [];
  let mayJudge = false;
  const known = new Set(["wanted"]);
  const id = (uid: string) => ({ uid: uid as PodUid, name: uid, namespace: "default" });
  const stop = new AbortController();
  const housekeeping = new Housekeeping({
    clock,
    logger: silentLogger,
    mayJudge: () => mayJudge,
    isKnown: (uid) => known.has(uid),
    inRuntime: () => [id("wanted"), id("stray"), id("others")],
    mayEnd: (uid) => uid !== "others",
    removesLeftovers: true,
    terminateOrphan: (p) => {
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
  mayJudge = true;
  await clock.advance(10_000);
  assert.deepEqual(orphans, ["stray"]);
  assert.deepEqual(removed, ["files of old", "cgroup of older"]);
  stop.abort();
  await housekeeping.done;
});
