import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod, testUid } from "../../../test/builders/pods.ts";
import { KubeletError } from "../../base/errors.ts";
import { FakeClock, settle } from "../../base/fake-clock.ts";
import { silentLogger } from "../../base/logger.ts";
import { type PodWork, PodWorker } from "./pod-worker.ts";

type Sync = PodWork["sync"];

function setUp(work: Partial<PodWork> = {}) {
  const clock = new FakeClock();
  const calls: string[] = [];
  let changes = 0;
  const worker = new PodWorker({
    id: { uid: testUid, name: "p", namespace: "default" },
    pod: aPod(),
    work: {
      sync: async () => ({}),
      stop: async (_uid, _pod, o) => void calls.push(`stop ${o.graceSeconds ?? "as the pod says"}`),
      release: async () => void calls.push("release"),
      remove: async () => void calls.push("remove"),
      hasEnded: () => false,
      ...work,
    },
    clock,
    logger: silentLogger,
    syncEveryMs: () => 60_000,
    mayStart: () => undefined,
    onChange: () => changes++,
    onFinished: () => calls.push("finished"),
  });
  worker.start();
  return { clock, worker, calls, changes: () => changes };
}

/** A sync that lasts until it is told to end, and cannot be cancelled: like a start in the runtime. */
function longSync() {
  const end = Promise.withResolvers<{ wakeAt?: number }>();
  const sync: Sync = () => end.promise;
  return { sync, end };
}

for (const how of ["ends well", "fails"] as const)
  test(`a worker that is abandoned during a sync that ${how} leaves no timer behind`, async () => {
    const { sync, end } = longSync();
    const { worker, clock } = setUp({ sync });
    await settle();
    worker.abandon();
    if (how === "fails") end.reject(new Error("broken"));
    else end.resolve({});
    await worker.done;
    assert.equal(clock.pending, 0, "an agent could not end before it");
  });

test("a pod is looked at again when the sync said, or after a while", async () => {
  let syncs = 0;
  const { clock } = setUp({
    sync: async () => (++syncs === 2 ? { wakeAt: clock.now() + 5000 } : {}),
  });
  await settle();
  await clock.advance(60_000);
  assert.equal(syncs, 2);
  await clock.advance(4999);
  assert.equal(syncs, 2);
  await clock.advance(1);
  assert.equal(syncs, 3);
});

test("an error that knows when to try again is believed", async () => {
  let syncs = 0;
  const { clock, worker } = setUp({
    sync: async () => {
      if (syncs++ === 0)
        throw new KubeletError("ImagePullBackOff", "later", { retryAt: clock.now() + 40_000 });
      return {};
    },
  });
  await settle();
  assert.equal(worker.blockedOn?.text, "later");
  await clock.advance(39_999);
  assert.equal(syncs, 1);
  await clock.advance(1);
  assert.equal(syncs, 2);
  assert.equal(worker.blockedOn, undefined);
});

test("retries wait 500 ms, twice as long each time, and never more than 10 s", async () => {
  const at: number[] = [];
  const { clock } = setUp({
    sync: async () => {
      at.push(clock.now());
      throw new Error("broken");
    },
  });
  await clock.advance(60_000);
  const gaps = at.slice(1).map((t, i) => t - at[i]!);
  assert.deepEqual(gaps.slice(0, 7), [500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
});

test("why a container waits is told when it changes, not each time it is looked at", async () => {
  const { worker, changes } = setUp({
    sync: async (_pod, report) => {
      report.waiting("a", undefined);
      return {};
    },
  });
  await settle();
  const before = changes();
  worker.poke();
  await settle();
  assert.equal(changes() - before, 1, "the pass itself");
});

test("a shorter grace period cuts a stop short, a longer one does not", async () => {
  const graces: (number | undefined)[] = [];
  const { worker, calls } = setUp({
    stop: (_uid, _pod, { graceSeconds, signal }) => {
      graces.push(graceSeconds);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  });
  await settle();
  worker.terminate({ removed: false, graceSeconds: 30 });
  await settle();
  worker.terminate({ removed: false, graceSeconds: 60 });
  await settle();
  worker.terminate({ removed: false, graceSeconds: 1 });
  await settle();
  assert.deepEqual(graces, [30, 1]);
  assert.deepEqual(calls, []);
});

test("what a slow runtime brings up after the pod has ended is ended too", async () => {
  const { worker, calls } = setUp({ hasEnded: () => true });
  await settle();
  assert.deepEqual(calls.splice(0), ["stop as the pod says", "release"]);
  assert.equal(worker.phase, "terminated");
  // The observed pods have changed.
  worker.poke();
  await settle();
  assert.deepEqual(calls.splice(0), ["stop as the pod says"]);
  worker.terminate({ removed: true });
  await settle();
  assert.deepEqual(calls, ["remove", "finished"]);
});
