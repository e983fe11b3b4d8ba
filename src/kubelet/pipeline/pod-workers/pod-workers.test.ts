import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { aPod } from "../../../../test/builders/pods.ts";
import { sleep } from "../../../lib/base/clock.ts";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { annotationSource, type Pod, type PodUid } from "../../../lib/model/pod.ts";
import { WorkerStates } from "../../state/worker-states.ts";
import type { PodSyncer } from "./pod-syncer.ts";
import { PodWorkers, type PodWorkersOptions } from "./pod-workers.ts";

const uid = (text: string) => text as PodUid;
const pod = (id: string, name = id): Pod => aPod({}, { uid: uid(id), name });

/** Records its calls, and fails on request. */
class FakeSyncer implements PodSyncer {
  readonly calls: string[] = [];
  readonly running = new Map<PodUid, string>();
  readonly busy = new Set<PodUid>();
  readonly terminal = new Set<PodUid>();
  failures = 0;
  delayMs = 0;
  /** Violated invariants: the worker would retry after an error that is thrown here. */
  readonly violations: string[] = [];
  readonly clock: FakeClock;

  constructor(clock: FakeClock) {
    this.clock = clock;
  }

  async #do(what: string, id: PodUid, signal: AbortSignal | undefined, act: () => void) {
    if (this.busy.has(id)) this.violations.push(`${what} ${id} during another call for it`);
    this.busy.add(id);
    try {
      this.calls.push(`${what} ${id}`);
      if (this.delayMs > 0) await sleep(this.clock, this.delayMs, signal);
      if (this.failures > 0) {
        this.failures--;
        throw new Error(`${what} failed`);
      }
      act();
    } finally {
      this.busy.delete(id);
    }
  }

  async sync(p: Pod, _report: unknown, signal: AbortSignal) {
    const { uid: id, name } = p.metadata;
    for (const [other, otherName] of this.running)
      if (other !== id && otherName === name) this.violations.push(`${id} starts while ${other} runs`);
    await this.#do("sync", id, signal, () => this.running.set(id, name));
    return {};
  }

  stop(id: PodUid, _pod: Pod | undefined, options: { signal: AbortSignal }) {
    return this.#do("stop", id, options.signal, () => this.running.delete(id));
  }

  release(id: PodUid) {
    return this.#do("release", id, undefined, () => this.#mustHaveStopped("release", id));
  }

  remove(id: { uid: PodUid }, signal: AbortSignal) {
    return this.#do("remove", id.uid, signal, () => this.#mustHaveStopped("remove", id.uid));
  }

  #mustHaveStopped(what: string, id: PodUid) {
    if (this.running.has(id)) this.violations.push(`${what} ${id} while it runs`);
  }

  isTerminal(p: Pod) {
    return this.terminal.has(p.metadata.uid);
  }
}

function setUp(
  previousVersions: (pod: Pod) => { uid: PodUid; name: string; namespace: string }[] = () => [],
  evictedPods?: PodWorkersOptions["evictedPods"],
) {
  const clock = new FakeClock();
  const syncer = new FakeSyncer(clock);
  const gone: PodUid[] = [];
  const states = new WorkerStates();
  const workers = new PodWorkers({
    syncer,
    clock,
    logger: silentLogger,
    syncEveryMs: () => 60_000,
    previousVersions,
    states,
    ...(evictedPods ? { evictedPods } : {}),
    onChange: () => {},
    onGone: (id) => gone.push(id),
  });
  return { clock, syncer, workers, states, gone };
}

test("nothing is done before the first relist", async () => {
  const { syncer, workers } = setUp();
  workers.update(pod("u1"));
  await settle();
  assert.deepEqual(syncer.calls, []);
  workers.release();
  await settle();
  assert.deepEqual(syncer.calls, ["sync u1"]);
});

test("a pod that is removed is stopped, released and removed, in this order", async () => {
  const { syncer, workers, gone } = setUp();
  workers.release();
  workers.update(pod("u1"));
  await settle();
  workers.terminate(uid("u1"), { removed: true });
  await settle();
  assert.deepEqual(syncer.calls, ["sync u1", "stop u1", "release u1", "remove u1"]);
  assert.deepEqual(gone, ["u1"]);
});

test("a pod that has terminated on its own is stopped and released, and kept until it is removed", async () => {
  const { syncer, workers, gone } = setUp();
  workers.release();
  syncer.terminal.add(uid("u1"));
  workers.update(pod("u1"));
  await settle();
  assert.deepEqual(syncer.calls, ["stop u1", "release u1"]);
  workers.update(pod("u1"));
  await settle();
  assert.equal(syncer.calls.length, 2, "an update does not restart it");
  workers.terminate(uid("u1"), { removed: true });
  await settle();
  assert.deepEqual(syncer.calls.slice(2), ["remove u1"]);
  assert.deepEqual(gone, ["u1"]);
});

test("a pod is active until it has terminated; one that was rejected is not, even while it is being stopped", async () => {
  const { clock, syncer, workers, states } = setUp();
  const failure = { phase: "Failed", reason: "Evicted", message: "" } as const;
  Object.assign(syncer, {
    delayMs: 1000,
    admit: (p: Pod) => (p.metadata.uid === "bad" ? { kind: "rejected", failure } : { kind: "admitted" }),
  });
  const active = () => ["bad", "good", "new"].filter((id) => states.isActive(uid(id)));
  workers.release();
  workers.update(pod("bad"));
  workers.update(pod("good"));
  await settle();
  assert.deepEqual(syncer.calls, ["sync good", "stop bad"]);
  assert.deepEqual(active(), ["good", "new"]);
  await clock.advance(2000);
  workers.terminate(uid("good"), { removed: false });
  await settle();
  assert.deepEqual(active(), ["good", "new"], "it is being stopped");
  await clock.advance(2000);
  assert.deepEqual(active(), ["new"]);
});

test("a pod that a previous agent was evicting is only terminated, even before the first relist", async () => {
  const failure = { phase: "Failed", reason: "Evicted", message: "" } as const;
  const { syncer, workers, states } = setUp(undefined, {
    get: (id) => (id === "u1" ? { failure, graceSeconds: 1 } : undefined),
  });
  workers.update(pod("u1"));
  workers.update(pod("u2"));
  workers.release();
  await settle();
  assert.deepEqual(new Set(syncer.calls), new Set(["release u1", "stop u1", "sync u2"]));
  assert.deepEqual(states.get(uid("u1"))?.failure, failure);
  assert.deepEqual([states.get(uid("u1"))?.evicted, states.get(uid("u2"))?.evicted], [true, false]);
});

test("an evicted pod that is removed and added again, with the same UID, runs", async () => {
  const failure = { phase: "Failed", reason: "Evicted", message: "" } as const;
  const { syncer, workers } = setUp(undefined, { get: () => ({ failure }) });
  workers.release();
  workers.update(pod("u1"));
  await settle();
  syncer.delayMs = 10;
  workers.terminate(uid("u1"), { removed: true });
  workers.update(pod("u1"));
  await syncer.clock.advance(100);
  assert.deepEqual(syncer.calls.at(-1), "sync u1");
});

test("a termination aborts the running sync", async () => {
  const { syncer, workers, clock } = setUp();
  workers.release();
  syncer.delayMs = 60_000;
  workers.update(pod("u1"));
  await settle();
  syncer.delayMs = 0;
  workers.terminate(uid("u1"), { removed: true });
  await clock.advance(10);
  assert.deepEqual(syncer.calls, ["sync u1", "stop u1", "release u1", "remove u1"]);
});

test("a failed sync is retried with back-off, and the pod reports what it is blocked on", async () => {
  const { syncer, workers, clock, states } = setUp();
  workers.release();
  syncer.failures = 3;
  workers.update(pod("u1"));
  await settle();
  assert.equal(states.get(uid("u1"))?.blockedOn?.text, "sync failed");
  assert.equal(syncer.calls.length, 1);
  await clock.advance(500);
  assert.equal(syncer.calls.length, 2);
  await clock.advance(999);
  assert.equal(syncer.calls.length, 2);
  await clock.advance(1);
  assert.equal(syncer.calls.length, 3);
  await clock.advance(2000);
  assert.equal(states.get(uid("u1"))?.blockedOn, undefined);
});

test("an edited static pod starts when the old one has terminated", async () => {
  const { syncer, workers, clock, states } = setUp();
  workers.release();
  workers.update(pod("old", "web"));
  await settle();
  syncer.delayMs = 1000;
  workers.terminate(uid("old"), { removed: true });
  workers.update(pod("new", "web"));
  await settle();
  assert.match(
    states.get(uid("new"))?.blockedOn?.text ?? "",
    /waiting for pod old of the same name to terminate/,
  );
  await clock.advance(5000);
  assert.ok(syncer.calls.indexOf("stop old") < syncer.calls.indexOf("sync new"));
});

test("an old version of a static pod in the runtime is stopped before the new one starts", async () => {
  const former = { uid: uid("old"), name: "web", namespace: "default" };
  const { syncer, workers } = setUp((p) =>
    syncer.running.has(former.uid) && p.metadata.name === "web" ? [former] : [],
  );
  syncer.running.set(former.uid, "web");
  workers.update(pod("new", "web"));
  workers.release();
  await settle(10);
  assert.deepEqual(
    syncer.calls.filter((c) => /^(stop|sync)/.test(c)),
    ["stop old", "sync new"],
  );
});

test("a pod that is added again with the same UID starts after it was removed", async () => {
  const { syncer, workers, gone } = setUp();
  const fromApi = aPod({}, { uid: uid("u1"), annotations: { [annotationSource]: "api" } });
  workers.release();
  workers.update(fromApi);
  await settle();
  workers.terminate(uid("u1"), { removed: true });
  workers.update(fromApi);
  await settle(10);
  assert.deepEqual(syncer.calls, ["sync u1", "stop u1", "release u1", "remove u1", "sync u1"]);
  assert.deepEqual(gone, ["u1"]);
});

const fromFile = (spec: Partial<Pod["spec"]>) =>
  aPod(spec, { uid: uid("u1"), annotations: { [annotationSource]: "file" } });
const readded: { rule: string; pod: Pod; removes: boolean }[] = [
  {
    rule: "a static pod that is always restarted keeps its dead containers",
    pod: fromFile({}),
    removes: false,
  },
  {
    rule: "a pod that may not run twice keeps none",
    pod: fromFile({ restartPolicy: "Never" }),
    removes: true,
  },
  {
    rule: "a pod with a deadline keeps none, since the deadline counts from the oldest sandbox",
    pod: fromFile({ activeDeadlineSeconds: 5 }),
    removes: true,
  },
  {
    rule: "a pod with a container that may not run twice keeps none",
    pod: fromFile({ containers: [{ name: "c", image: "i", restartPolicy: "OnFailure" }] }),
    removes: true,
  },
];
for (const { rule, pod: again, removes } of readded)
  test(`pods that are added again with the same UID: ${rule}`, async () => {
    const { syncer, workers, gone } = setUp();
    workers.release();
    workers.update(again);
    await settle();
    workers.terminate(uid("u1"), { removed: true });
    workers.update(again);
    await settle(10);
    const removed = removes ? ["remove u1"] : [];
    assert.deepEqual(syncer.calls, ["sync u1", "stop u1", "release u1", ...removed, "sync u1"]);
    assert.deepEqual(gone, ["u1"]);
    workers.terminate(uid("u1"), { removed: true });
    await settle(10);
    assert.equal(syncer.calls.at(-1), "remove u1", "nothing is left");
  });

test("the deletion of a pod that was added again shortens the termination of the old one", async () => {
  const { syncer, workers, clock } = setUp();
  const again = aPod({ terminationGracePeriodSeconds: 9 }, { uid: uid("u1") });
  workers.release();
  workers.update(again);
  await settle();
  syncer.delayMs = 1000;
  workers.terminate(uid("u1"), { removed: true });
  await settle();
  const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 0 };
  workers.update(again);
  await settle();
  assert.deepEqual(syncer.calls, ["sync u1", "stop u1"]);
  workers.update({ ...again, metadata: { ...again.metadata, ...deleted } });
  await settle();
  assert.deepEqual(syncer.calls, ["sync u1", "stop u1", "stop u1"]);
  await clock.advance(20_000);
  assert.equal(syncer.calls.filter((call) => call.startsWith("sync")).length, 1);
});

test("an agent that stops leaves its pods running", async () => {
  const { syncer, workers } = setUp();
  const stop = new AbortController();
  await workers.start(stop.signal);
  workers.release();
  workers.update(pod("u1"));
  await settle();
  stop.abort();
  await workers.done;
  assert.deepEqual(syncer.calls, ["sync u1"]);
});

const byText = (a: string, b: string) => (a < b ? -1 : 1);

type Step =
  | { kind: "add" | "remove" | "wake" | "end" | "orphan"; pod: number }
  | { kind: "fail"; times: number }
  | { kind: "slow"; ms: number }
  | { kind: "wait"; ms: number };

const podNumber = fc.integer({ min: 0, max: 5 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("add" as const), pod: podNumber }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("remove" as const), pod: podNumber }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("wake" as const, "end" as const, "orphan" as const),
      pod: podNumber,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("fail" as const), times: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("slow" as const), ms: fc.integer({ min: 0, max: 2000 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("wait" as const), ms: fc.integer({ min: 0, max: 3000 }) }),
  },
);

test("in any order of events: syncs of a pod are serial, pods of the same name never overlap, and the desired pods run in the end", async () => {
  const rank = { syncing: 0, terminating: 1, terminated: 2 };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40, size: "max" }), async (steps) => {
      const { clock, syncer, workers, states } = setUp();
      // Pods 0/1 and 2/3 are two versions of the same static pod.
      const podOf = (n: number) => pod(`u${n}`, `name${Math.floor(n / 2)}`);
      const desired = new Map<string, PodUid>();
      const phases = new Map<object, number>();
      const checkPhases = () => {
        for (const worker of states.all()) {
          const before = phases.get(worker) ?? 0;
          assert.ok(
            rank[worker.phase] >= before,
            `${worker.id.uid} went back from ${before} to ${worker.phase}`,
          );
          phases.set(worker, rank[worker.phase]);
        }
      };
      workers.release();
      for (const s of steps) {
        switch (s.kind) {
          case "add": {
            const p = podOf(s.pod);
            const former = desired.get(p.metadata.name);
            // A source never emits two pods of the same name at the same time.
            if (former && former !== p.metadata.uid) workers.terminate(former, { removed: true });
            desired.set(p.metadata.name, p.metadata.uid);
            workers.update(p);
            break;
          }
          case "remove": {
            const p = podOf(s.pod);
            if (desired.get(p.metadata.name) !== p.metadata.uid) break;
            desired.delete(p.metadata.name);
            workers.terminate(p.metadata.uid, { removed: true });
            break;
          }
          case "wake":
            workers.wake(uid(`u${s.pod}`));
            break;
          case "end":
            syncer.terminal.add(uid(`u${s.pod}`));
            break;
          case "orphan":
            if (syncer.running.has(uid(`u${s.pod}`)))
              workers.terminateOrphan({
                uid: uid(`u${s.pod}`),
                name: `name${Math.floor(s.pod / 2)}`,
                namespace: "default",
              });
            break;
          case "fail":
            syncer.failures = s.times;
            break;
          case "slow":
            syncer.delayMs = s.ms;
            break;
          case "wait":
            await clock.advance(s.ms);
            break;
          default:
            s satisfies never;
        }
        await settle(1);
        checkPhases();
      }
      syncer.failures = 0;
      syncer.delayMs = 0;
      await clock.advance(100_000);
      checkPhases();
      assert.deepEqual(syncer.violations, []);
      const shouldRun = [...desired.values()].filter((id) => !syncer.terminal.has(id)).toSorted(byText);
      assert.deepEqual([...syncer.running.keys()].toSorted(byText), shouldRun);
      assert.deepEqual(
        [...states.all()].map((w) => w.id.uid).toSorted(byText),
        [...desired.values()].toSorted(byText),
      );
    }),
    { numRuns: Number(process.env.PROPERTY_RUNS ?? 300) },
  );
});

test("a pod that is terminated during its start reports what it waits for", async () => {
  const { syncer, workers, clock, states } = setUp();
  workers.release();
  const busy = Promise.withResolvers<void>();
  syncer.sync = async () => {
    await busy.promise;
    return {};
  };
  workers.update(pod("u1"));
  await settle();
  workers.terminate(uid("u1"), { removed: true });
  assert.equal(states.get(uid("u1"))?.blockedOn?.text, "waiting for the current runtime call to finish");
  busy.resolve();
  await clock.advance(10);
  assert.equal(states.get(uid("u1")), undefined);
});
