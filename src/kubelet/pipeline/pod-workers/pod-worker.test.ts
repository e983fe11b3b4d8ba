import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod, testUid } from "../../../../test/builders/pods.ts";
import { msFromNow } from "../../../lib/base/clock.ts";
import { KubeletError } from "../../../lib/base/errors.ts";
import { FakeClock, monotonicTime, settle } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { type MonotonicTime, plusMs, type WallTime, wallTime } from "../../../lib/base/time.ts";
import type { Pod } from "../../../lib/model/pod.ts";
import type { PodFailure } from "../../../lib/model/pod-failure.ts";
import type { Admission } from "../../../lib/model/pod-sync.ts";
import type { PodSyncer } from "./pod-syncer.ts";
import { PodWorker, type PodWorkerOptions } from "./pod-worker.ts";

type Sync = PodSyncer["sync"];

function setUp(syncer: Partial<PodSyncer> = {}, pod: Pod = aPod(), more: Partial<PodWorkerOptions> = {}) {
  const clock = new FakeClock();
  const calls: string[] = [];
  const phases: string[] = [];
  let changes = 0;
  const worker = new PodWorker({
    id: { uid: testUid, name: "p", namespace: "default" },
    pod,
    syncer: {
      sync: async () => ({}),
      stop: async (_uid, _pod, o) => void calls.push(`stop ${o.graceSeconds ?? "default"}`),
      release: async () => void calls.push("release"),
      remove: async () => void calls.push("remove"),
      isTerminal: () => false,
      ...syncer,
    },
    clock,
    logger: silentLogger,
    syncEveryMs: () => 60_000,
    startBlocker: () => undefined,
    ...more,
    onChange: () => changes++,
    onPhase: (phase) => phases.push(phase),
    onFinished: () => calls.push("finished"),
  });
  worker.start();
  return { clock, worker, calls, phases, changes: () => changes };
}

/** A sync that lasts until the test ends it, and cannot be canceled: like a start in the runtime. */
function longSync() {
  const end = Promise.withResolvers<{ wakeAt?: MonotonicTime }>();
  const sync: Sync = () => end.promise;
  return { sync, end };
}

test("until the pod may start, each sync first terminates what has to be gone; later ones do not", async () => {
  const calls: string[] = [];
  let blocker: string | undefined = "waiting for another pod";
  const { worker } = setUp({ sync: async () => (calls.push("sync"), {}) }, aPod(), {
    beforeStart: () => calls.push("terminate"),
    startBlocker: () => {
      calls.push("query");
      return blocker;
    },
  });
  await settle();
  worker.wake();
  await settle();
  assert.deepEqual(calls.splice(0), ["terminate", "query", "terminate", "query"]);
  blocker = undefined;
  worker.wake();
  await settle();
  worker.wake();
  await settle();
  assert.deepEqual(calls, ["terminate", "query", "sync", "sync"]);
});

for (const how of ["succeeds", "fails"] as const)
  test(`a worker that is abandoned during a sync that ${how} leaves no timer behind`, async () => {
    const { sync, end } = longSync();
    const { worker, clock } = setUp({ sync });
    await settle();
    worker.abandon();
    if (how === "fails") end.reject(new Error("broken"));
    else end.resolve({});
    await worker.done;
    assert.equal(clock.pending, 0, "a timer would delay the exit of the agent");
  });

test("a pod that terminated during a sync is reported as terminated on its own, even if its deletion is requested before the sync finishes", async () => {
  for (const terminal of [true, false]) {
    const { sync, end } = longSync();
    let isTerminalPhase = false;
    const { worker } = setUp({ sync, isTerminal: () => isTerminalPhase });
    await settle();
    isTerminalPhase = terminal;
    worker.terminate({ removed: false });
    end.resolve({});
    await settle();
    assert.equal(worker.terminatedByItself, terminal);
  }
});

test("an unmount that hangs does not block an abandoned worker", async () => {
  let hangs = false;
  const { worker, clock } = setUp({
    release: (_uid, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
        hangs = true;
      }),
  });
  await settle();
  worker.terminate({ removed: true });
  await settle();
  assert.ok(hangs);
  worker.abandon();
  await worker.done;
  assert.equal(clock.pending, 0);
});

// parity: field syncFrequency as syncEveryMs
test("a pod is synced again when the last sync specified, or periodically", async () => {
  let syncs = 0;
  const { clock } = setUp({
    sync: async () => (++syncs === 2 ? { wakeAt: msFromNow(clock, 5000) } : {}),
  });
  await settle();
  await clock.advance(60_000);
  assert.equal(syncs, 2);
  await clock.advance(4999);
  assert.equal(syncs, 2);
  await clock.advance(1);
  assert.equal(syncs, 3);
});

test("an error may specify the time of the retry", async () => {
  let syncs = 0;
  const { clock, worker } = setUp({
    sync: async () => {
      if (syncs++ === 0)
        throw new KubeletError("ImagePullBackOff", "later", { retryAt: msFromNow(clock, 40_000) });
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

test("retries wait 500 ms, doubling up to 10 s", async () => {
  const at: number[] = [];
  const { clock } = setUp({
    sync: async () => {
      at.push(clock.elapsedMs);
      throw new Error("broken");
    },
  });
  await clock.advance(60_000);
  const gaps = at.slice(1).map((t, i) => t - at[i]!);
  assert.deepEqual(gaps.slice(0, 7), [500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
});

test("a waiting reason is reported when it changes, not with each sync", async () => {
  const { worker, changes } = setUp({
    sync: async (_pod, report) => {
      report.waiting("a", undefined);
      return {};
    },
  });
  await settle();
  const before = changes();
  worker.wake();
  await settle();
  assert.equal(changes() - before, 1, "the sync itself");
});

test("a pod whose regular containers have completed terminates, even if its sidecars run", async () => {
  const { worker, calls } = setUp({ sync: async () => ({ finished: "all containers have exited" }) });
  await settle();
  assert.deepEqual([calls, worker.phase], [["stop 1", "release"], "terminated"]);
});

test("a pod of which nothing will run again has failed, unless its containers have terminated", async () => {
  for (const terminal of [false, true]) {
    let admissions = 0;
    const { worker } = setUp({
      sync: async () => ({ finished: "its sandbox is gone" }),
      isTerminal: () => terminal && admissions++ > 1,
    });
    await settle();
    assert.equal(worker.phase, "terminated");
    assert.equal(worker.failure?.reason, terminal ? undefined : "SandboxLost");
  }
});

test("containers that a slow runtime starts after the termination are stopped too", async () => {
  const { worker, calls } = setUp({ isTerminal: () => true });
  await settle();
  assert.deepEqual(calls.splice(0), ["stop 1", "release"]);
  assert.equal(worker.phase, "terminated");
  // The observed pods have changed.
  worker.wake();
  await settle();
  assert.deepEqual(calls.splice(0), ["stop 1"]);
  worker.terminate({ removed: true });
  await settle();
  assert.deepEqual(calls, ["remove", "finished"]);
});

/** Stops that last until they are aborted. */
function longStops() {
  const graces: (number | undefined)[] = [];
  const stop: PodSyncer["stop"] = (_uid, _pod, { graceSeconds, signal }) => {
    graces.push(graceSeconds);
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  return { graces, stop };
}

const deletion = (deletionGracePeriodSeconds: number, deletionTimestamp = "2026-01-01T00:00:00Z") =>
  aPod({ terminationGracePeriodSeconds: 30 }, { deletionGracePeriodSeconds, deletionTimestamp });

for (const { rule, requests, graces } of [
  { rule: "a request without one uses that of the pod", requests: [undefined], graces: [30] },
  { rule: "a shorter request overrides, a longer one does not", requests: [20, 60, 5], graces: [20, 5] },
  { rule: "the first request may be longer than that of the pod", requests: [60, 40], graces: [60, 40] },
  { rule: "a later request is never longer than that of the pod", requests: [undefined, 60], graces: [30] },
  { rule: "0 is treated as 1, the minimum", requests: [10, 0, 1], graces: [10, 1] },
  {
    rule: "a repeated request does not restart the termination",
    requests: [10, 10, undefined],
    graces: [10],
  },
])
  test(`grace period: ${rule}`, async () => {
    const long = longStops();
    const { worker } = setUp({ stop: long.stop }, aPod({ terminationGracePeriodSeconds: 30 }));
    await settle();
    for (const graceSeconds of requests) {
      worker.terminate({ removed: false, graceSeconds });
      await settle();
    }
    assert.deepEqual(long.graces, graces);
  });

test("the removal of a pod that is being stopped does not restart the termination", async () => {
  const long = longStops();
  const { worker } = setUp({ stop: long.stop });
  await settle();
  worker.terminate({ removed: false, graceSeconds: 10 });
  await settle();
  worker.terminate({ removed: true });
  await settle();
  assert.deepEqual(long.graces, [10]);
});

test("an update with a deletion timestamp terminates the pod with its grace period, and a shorter one overrides", async () => {
  const long = longStops();
  const { worker } = setUp({ stop: long.stop });
  await settle();
  worker.update(deletion(20));
  await settle();
  worker.update(deletion(25));
  worker.update(deletion(3));
  await settle();
  assert.deepEqual(long.graces, [20, 3]);
  assert.equal(worker.removed, false);
});

test("a pod that is already being deleted when first seen is terminated, not started", async () => {
  let syncs = 0;
  const { worker, calls } = setUp(
    {
      sync: async () => {
        syncs++;
        return {};
      },
      admit: () => assert.fail("it is not admitted"),
    },
    deletion(7),
  );
  await settle();
  assert.deepEqual([syncs, calls, worker.phase], [0, ["stop 7", "release"], "terminated"]);
});

test("a terminating pod ignores updates other than a shorter grace period", async () => {
  const { worker } = setUp({ stop: longStops().stop });
  await settle();
  worker.terminate({ removed: false });
  const before = worker.pod;
  worker.update(aPod({ containers: [] }));
  await settle();
  assert.equal(worker.pod, before);
});

test("reports when a pod is terminating and terminated", async () => {
  const { worker, phases } = setUp();
  await settle();
  assert.deepEqual(phases, []);
  worker.terminate({ removed: true });
  assert.deepEqual(phases, ["terminating"]);
  await settle();
  assert.deepEqual(phases, ["terminating", "terminated"]);
});

const evicted: PodFailure = { phase: "Failed", reason: "Evicted", message: "no room" };
const rejected: PodFailure = { phase: "Failed", reason: "OutOfcpu", message: "no cpu" };

test("a pod with a failure terminates, keeps the first failure, and remains until it is removed", async () => {
  const { worker, calls } = setUp();
  await settle();
  worker.terminate({ removed: false, graceSeconds: 4, failure: evicted });
  worker.terminate({ removed: false, failure: rejected });
  await settle();
  assert.deepEqual(calls.splice(0), ["stop 4", "release"]);
  worker.update(aPod());
  await settle();
  assert.deepEqual([worker.failure, worker.phase, calls], [evicted, "terminated", []]);
  worker.terminate({ removed: true });
  await settle();
  assert.deepEqual(calls, ["remove", "finished"]);
});

test("a pod that has terminated on its own gets no failure", async () => {
  let terminal = false;
  const { worker } = setUp({ isTerminal: () => terminal });
  await settle();
  terminal = true;
  worker.terminate({ removed: false, failure: evicted });
  await settle();
  assert.deepEqual([worker.failure, worker.phase], [undefined, "terminated"]);
});

test("a rejected pod is never synced; its containers in the runtime are stopped", async () => {
  let admissions = 0;
  const { worker, calls } = setUp({
    sync: async () => assert.fail("it was rejected"),
    admit: () => {
      admissions++;
      return { kind: "rejected", failure: rejected };
    },
  });
  await settle();
  worker.update(aPod());
  await settle();
  assert.deepEqual(calls, ["stop 1", "release"]);
  assert.deepEqual(
    [worker.failure, worker.rejected, worker.phase, admissions],
    [rejected, true, "terminated", 1],
  );
});

test("a pod is admitted once, before it starts, and not if it has already terminated", async () => {
  let admissions = 0;
  const admit = () => {
    admissions++;
    return { kind: "admitted" } as const;
  };
  const { worker } = setUp({ admit });
  await settle();
  worker.wake();
  await settle();
  assert.equal(admissions, 1);
  setUp({ admit, isTerminal: () => true });
  await settle();
  assert.equal(admissions, 1);
});

test("a pod that waits to be admitted is decided again when it is woken, and at the end of its wait", async () => {
  const until = plusMs(new FakeClock().monotonic(), 10_000);
  let admission: Admission = { kind: "waiting", text: "waiting for web", until };
  let admissions = 0;
  let syncs = 0;
  const { worker, clock } = setUp({
    admit: () => {
      admissions++;
      return admission;
    },
    sync: async () => {
      syncs++;
      return {};
    },
  });
  await settle();
  assert.deepEqual([worker.blockedOn?.text, worker.started], ["waiting for web", false]);
  worker.wake();
  await clock.advance(9000);
  assert.equal(admissions, 2);
  admission = { kind: "admitted" };
  await clock.advance(1000);
  assert.deepEqual([admissions, syncs, worker.started, worker.blockedOn], [3, 1, true, undefined]);
});

test("a pod that waits to be admitted and is terminated never starts", async () => {
  const until = plusMs(new FakeClock().monotonic(), 10_000);
  const { worker } = setUp({
    admit: () => ({ kind: "waiting", text: "", until }),
    sync: async () => assert.fail("it was not admitted"),
  });
  await settle();
  worker.terminate({ removed: false, failure: evicted });
  await settle();
  assert.deepEqual([worker.phase, worker.failure], ["terminated", evicted]);
});

/** The deadline of the pod is its activeDeadlineSeconds after the start of the fake clock. */
function withDeadline(more: Partial<PodSyncer> = {}, activeDeadlineSeconds?: number) {
  const deadlineOf = ({ spec }: Pod) =>
    spec.activeDeadlineSeconds === undefined
      ? undefined
      : { since: wallTime(Date.UTC(2026, 0, 1)), limitMs: spec.activeDeadlineSeconds * 1000 };
  return setUp({ deadlineOf, ...more }, aPod({ activeDeadlineSeconds }));
}

test("a pod fails when its active deadline has passed", async () => {
  const { worker, clock, calls } = withDeadline({}, 5);
  await clock.advance(4999);
  assert.equal(worker.phase, "syncing");
  await clock.advance(1);
  assert.deepEqual(calls, ["stop 1", "release"]);
  assert.deepEqual(worker.failure, {
    phase: "Failed",
    reason: "DeadlineExceeded",
    message: "Pod was active on the node longer than the specified deadline",
  });
  assert.equal(clock.pending, 0);
});

test("an abandoned worker leaves no deadline timer behind", async () => {
  const { worker, clock } = withDeadline({}, 5);
  await settle();
  worker.abandon();
  assert.equal(clock.pending, 0);
});

test("the deadline aborts a running sync", async () => {
  const { worker, clock } = withDeadline(
    {
      sync: (_pod, _report, signal) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    },
    5,
  );
  await clock.advance(5000);
  assert.deepEqual([worker.phase, worker.failure?.reason], ["terminated", "DeadlineExceeded"]);
});

test("a deadline that passed before the agent started terminates the pod without a sync", async () => {
  const { worker } = withDeadline({ sync: async () => assert.fail("its deadline had passed") }, -1);
  await settle();
  assert.deepEqual([worker.phase, worker.failure?.reason], ["terminated", "DeadlineExceeded"]);
});

for (const { rule, from, to, endsAt } of [
  { rule: "added", from: undefined, to: 7, endsAt: 7000 },
  { rule: "shortened", from: 20, to: 7, endsAt: 7000 },
  { rule: "shortened below the elapsed time", from: 20, to: 2, endsAt: 3000 },
])
  test(`a deadline may be ${rule}`, async () => {
    const { worker, clock } = withDeadline({}, from);
    await clock.advance(3000);
    worker.update(aPod({ activeDeadlineSeconds: to }));
    await settle();
    if (endsAt > 3000) {
      await clock.advance(endsAt - 3001);
      assert.equal(worker.phase, "syncing");
      await clock.advance(1);
    }
    assert.equal(worker.failure?.reason, "DeadlineExceeded");
  });

test("a deadline that is not known when the pod starts applies as soon as it is", async () => {
  let since: WallTime | undefined;
  const { worker, clock } = setUp({
    sync: async () => {
      since ??= clock.wall();
      return {};
    },
    deadlineOf: () => since && { since, limitMs: 1000 },
  });
  await clock.advance(999);
  assert.equal(worker.phase, "syncing");
  await clock.advance(1);
  assert.equal(worker.phase, "terminated");
});

test("a change during a sync is handled right after it, even if the sync failed", async () => {
  for (const how of ["resolve", "reject"] as const) {
    let syncs = 0;
    const first = Promise.withResolvers<{ wakeAt?: MonotonicTime }>();
    const { worker, clock } = setUp({ sync: async () => (++syncs === 1 ? first.promise : {}) });
    await settle();
    worker.wake();
    if (how === "resolve") first.resolve({});
    else first.reject(new Error("broken"));
    await settle();
    assert.deepEqual([syncs, clock.pending], [2, 1], how);
  }
});

test("a change does not wait for the retry of a failed sync", async () => {
  let syncs = 0;
  const { worker } = setUp({
    sync: async () => {
      syncs++;
      throw new KubeletError("ImagePullBackOff", "later", {
        retryAt: monotonicTime(Number.MAX_SAFE_INTEGER),
      });
    },
  });
  await settle();
  worker.wake();
  await settle();
  assert.equal(syncs, 2);
});

test("a failure whose message changes is not retried because of its own status update", async () => {
  let syncs = 0;
  const { worker, clock } = setUp({
    sync: async () => {
      throw new Error(`container ${++syncs} cannot be created`);
    },
  });
  await settle();
  for (let update = 0; update < 5; update++) {
    worker.update(aPod({}, { labels: { update: String(update) } }), "status");
    await settle();
  }
  assert.equal(syncs, 1);
  await clock.advance(500);
  assert.equal(syncs, 2);
  worker.update(aPod(), "spec");
  await settle();
  assert.equal(syncs, 3);
});

test("the status is computed after each sync, whether it fails or not", async () => {
  let isBroken = true;
  const { clock, changes } = setUp({
    sync: async (_pod, report) => {
      report.blockedOn("creating the sandbox");
      if (isBroken) throw new Error("no network");
      return {};
    },
  });
  await settle();
  for (const delay of [500, 1000, 2000]) {
    const before = changes();
    await clock.advance(delay);
    assert.equal(changes() - before, 1, `retry after ${delay} ms`);
  }
  isBroken = false;
  const before = changes();
  await clock.advance(4000);
  assert.equal(changes() - before, 1);
});

test("a status that others changed is handled without delay if the last sync succeeded", async () => {
  let syncs = 0;
  const { worker } = setUp({
    sync: async () => {
      syncs++;
      return {};
    },
  });
  await settle();
  worker.update(aPod(), "status");
  await settle();
  assert.equal(syncs, 2);
});

test("an aborted sync is not reported as a failure", async () => {
  const { worker } = setUp({
    stop: async (_uid, _pod, { graceSeconds, signal }) => {
      if (graceSeconds === 1) return;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      throw new Error("stopping the pod: aborted");
    },
  });
  await settle();
  worker.terminate({ removed: false, graceSeconds: 10 });
  await settle();
  worker.terminate({ removed: false, graceSeconds: 1 });
  await settle();
  assert.deepEqual([worker.phase, worker.blockedOn], ["terminated", undefined]);
});

test("a pod that needs exclusive resources is synced when they are allocated", async () => {
  const allocated = Promise.withResolvers<Admission>();
  const { worker, calls } = setUp({
    admit: () => allocated.promise,
    sync: async () => {
      calls.push("sync");
      return {};
    },
  });
  await settle();
  assert.equal(worker.started, false);
  assert.deepEqual(calls, []);
  allocated.resolve({ kind: "admitted" });
  await settle();
  assert.equal(worker.started, true);
  assert.deepEqual(calls, ["sync"]);
});

test("a pod whose exclusive resources cannot be allocated fails", async () => {
  const failure: PodFailure = { phase: "Failed", reason: "TopologyAffinityError", message: "no" };
  const { worker, phases } = setUp({ admit: async () => ({ kind: "rejected", failure }) });
  await settle();
  assert.deepEqual(worker.failure, failure);
  assert.equal(worker.rejected, true);
  assert.deepEqual(phases, ["terminating", "terminated"]);
});

test("a pod that is deleted while its resources are allocated is never synced", async () => {
  const allocated = Promise.withResolvers<Admission>();
  let aborted = false;
  const { worker, calls, phases } = setUp({
    admit: (_pod, _report, signal) => {
      signal.addEventListener("abort", () => {
        aborted = true;
      });
      return allocated.promise;
    },
    sync: () => assert.fail("synced"),
  });
  await settle();
  worker.terminate({ removed: true, graceSeconds: 1 });
  assert.equal(aborted, true);
  allocated.resolve({ kind: "admitted" });
  await worker.done;
  assert.deepEqual(calls, ["stop 1", "release", "remove", "finished"]);
  assert.deepEqual(phases, ["terminating", "terminated"]);
});
