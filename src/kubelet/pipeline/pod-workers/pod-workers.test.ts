import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { aPod } from "../../../../test/builders/pods.ts";
import { sleep } from "../../../lib/base/clock.ts";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { annotationSource, type Pod, type PodUid } from "../../../lib/model/pod.ts";
import type { PodSyncer } from "./pod-syncer.ts";
import { PodWorkers } from "./pod-workers.ts";

const uid = (text: string) => text as PodUid;
const pod = (id: string, name = id): Pod => aPod({}, { uid: uid(id), name });

/** A node that only remembers what was asked of it, and fails when told to. */
class FakeWork implements PodSyncer {
  readonly calls: string[] = [];
  readonly running = new Map<PodUid, string>();
  readonly busy = new Set<PodUid>();
  readonly ended = new Set<PodUid>();
  failures = 0;
  delayMs = 0;
  /** What must never happen and did: an error thrown here would only be one more failure to the worker. */
  readonly violations: string[] = [];
  readonly clock: FakeClock;

  constructor(clock: FakeClock) {
    this.clock = clock;
  }

  async #do(what: string, id: PodUid, signal: AbortSignal | undefined, act: () => void) {
    if (this.busy.has(id)) this.violations.push(`${what} ${id} while other work on it is under way`);
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
    return this.#do("release", id, undefined, () => this.#mustHaveEnded("release", id));
  }

  remove(id: { uid: PodUid }, signal: AbortSignal) {
    return this.#do("remove", id.uid, signal, () => this.#mustHaveEnded("remove", id.uid));
  }

  #mustHaveEnded(what: string, id: PodUid) {
    if (this.running.has(id)) this.violations.push(`${what} ${id} while it runs`);
  }

  hasEnded(p: Pod) {
    return this.ended.has(p.metadata.uid);
  }
}

function setUp(formerVersions: (pod: Pod) => { uid: PodUid; name: string; namespace: string }[] = () => []) {
  const clock = new FakeClock();
  const work = new FakeWork(clock);
  const gone: PodUid[] = [];
  const workers = new PodWorkers({
    work,
    clock,
    logger: silentLogger,
    syncEveryMs: () => 60_000,
    formerVersions,
    onChange: () => {},
    onGone: (id) => gone.push(id),
  });
  return { clock, work, workers, gone };
}

test("nothing is done before the runtime was looked at", async () => {
  const { work, workers } = setUp();
  workers.update(pod("u1"));
  await settle();
  assert.deepEqual(work.calls, []);
  workers.release();
  await settle();
  assert.deepEqual(work.calls, ["sync u1"]);
});

test("a pod that is removed is stopped, released and removed, in this order", async () => {
  const { work, workers, gone } = setUp();
  workers.release();
  workers.update(pod("u1"));
  await settle();
  workers.terminate(uid("u1"), { removed: true });
  await settle();
  assert.deepEqual(work.calls, ["sync u1", "stop u1", "release u1", "remove u1"]);
  assert.deepEqual(gone, ["u1"]);
});

test("a pod that ran to its end is stopped and released, and kept until it is removed", async () => {
  const { work, workers, gone } = setUp();
  workers.release();
  work.ended.add(uid("u1"));
  workers.update(pod("u1"));
  await settle();
  assert.deepEqual(work.calls, ["stop u1", "release u1"]);
  workers.update(pod("u1"));
  await settle();
  assert.equal(work.calls.length, 2, "an update does not bring it back");
  workers.terminate(uid("u1"), { removed: true });
  await settle();
  assert.deepEqual(work.calls.slice(2), ["remove u1"]);
  assert.deepEqual(gone, ["u1"]);
});

test("a wish to end cancels the sync that is under way", async () => {
  const { work, workers, clock } = setUp();
  workers.release();
  work.delayMs = 60_000;
  workers.update(pod("u1"));
  await settle();
  work.delayMs = 0;
  workers.terminate(uid("u1"), { removed: true });
  await clock.advance(10);
  assert.deepEqual(work.calls, ["sync u1", "stop u1", "release u1", "remove u1"]);
});

test("a failed step is tried again, later each time, and the pod says what it is blocked on", async () => {
  const { work, workers, clock } = setUp();
  workers.release();
  work.failures = 3;
  workers.update(pod("u1"));
  await settle();
  assert.equal(workers.get(uid("u1"))?.blockedOn?.text, "sync failed");
  assert.equal(work.calls.length, 1);
  await clock.advance(500);
  assert.equal(work.calls.length, 2);
  await clock.advance(999);
  assert.equal(work.calls.length, 2);
  await clock.advance(1);
  assert.equal(work.calls.length, 3);
  await clock.advance(2000);
  assert.equal(workers.get(uid("u1"))?.blockedOn, undefined);
});

test("an edited static pod starts when the one before it has ended", async () => {
  const { work, workers, clock } = setUp();
  workers.release();
  workers.update(pod("old", "web"));
  await settle();
  work.delayMs = 1000;
  workers.terminate(uid("old"), { removed: true });
  workers.update(pod("new", "web"));
  await settle();
  assert.match(workers.get(uid("new"))?.blockedOn?.text ?? "", /waiting for pod old of the same name to end/);
  await clock.advance(5000);
  assert.ok(work.calls.indexOf("stop old") < work.calls.indexOf("sync new"));
});

test("what the runtime has of an edited pod is ended before the new one starts", async () => {
  const former = { uid: uid("old"), name: "web", namespace: "default" };
  const { work, workers } = setUp((p) =>
    work.running.has(former.uid) && p.metadata.name === "web" ? [former] : [],
  );
  work.running.set(former.uid, "web");
  workers.update(pod("new", "web"));
  workers.release();
  await settle(10);
  assert.deepEqual(
    work.calls.filter((c) => /^(stop|sync)/.test(c)),
    ["stop old", "sync new"],
  );
});

test("a pod that comes back with the same UID starts anew, after it was removed", async () => {
  const { work, workers, gone } = setUp();
  const fromApi = aPod({}, { uid: uid("u1"), annotations: { [annotationSource]: "api" } });
  workers.release();
  workers.update(fromApi);
  await settle();
  workers.terminate(uid("u1"), { removed: true });
  workers.update(fromApi);
  await settle(10);
  assert.deepEqual(work.calls, ["sync u1", "stop u1", "release u1", "remove u1", "sync u1"]);
  assert.deepEqual(gone, ["u1"]);
});

const fromFile = (spec: Partial<Pod["spec"]>) =>
  aPod(spec, { uid: uid("u1"), annotations: { [annotationSource]: "file" } });
const comesBack: { rule: string; pod: Pod; removes: boolean }[] = [
  {
    rule: "a static pod that is restarted always goes on from its dead containers",
    pod: fromFile({}),
    removes: false,
  },
  {
    rule: "one that may not run twice finds nothing of its former life",
    pod: fromFile({ restartPolicy: "Never" }),
    removes: true,
  },
  {
    rule: "nor does one whose time is limited: it counts from its oldest sandbox",
    pod: fromFile({ activeDeadlineSeconds: 5 }),
    removes: true,
  },
  {
    rule: "nor does one with a container that may not",
    pod: fromFile({ containers: [{ name: "c", image: "i", restartPolicy: "OnFailure" }] }),
    removes: true,
  },
];
for (const { rule, pod: back, removes } of comesBack)
  test(`of pods that come back with the same UID: ${rule}`, async () => {
    const { work, workers, gone } = setUp();
    workers.release();
    workers.update(back);
    await settle();
    workers.terminate(uid("u1"), { removed: true });
    workers.update(back);
    await settle(10);
    const removed = removes ? ["remove u1"] : [];
    assert.deepEqual(work.calls, ["sync u1", "stop u1", "release u1", ...removed, "sync u1"]);
    assert.deepEqual(gone, ["u1"]);
    workers.terminate(uid("u1"), { removed: true });
    await settle(10);
    assert.equal(work.calls.at(-1), "remove u1", "at the end nothing is left");
  });

test("a pod that came back and is deleted ends sooner, if it is still ending", async () => {
  const { work, workers, clock } = setUp();
  const back = aPod({ terminationGracePeriodSeconds: 9 }, { uid: uid("u1") });
  workers.release();
  workers.update(back);
  await settle();
  work.delayMs = 1000;
  workers.terminate(uid("u1"), { removed: true });
  await settle();
  const deleted = { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 0 };
  workers.update(back);
  await settle();
  assert.deepEqual(work.calls, ["sync u1", "stop u1"]);
  workers.update({ ...back, metadata: { ...back.metadata, ...deleted } });
  await settle();
  assert.deepEqual(work.calls, ["sync u1", "stop u1", "stop u1"]);
  await clock.advance(20_000);
  assert.equal(work.calls.filter((call) => call.startsWith("sync")).length, 1);
});

test("an agent that stops leaves its pods alone", async () => {
  const { work, workers } = setUp();
  const stop = new AbortController();
  await workers.start(stop.signal);
  workers.release();
  workers.update(pod("u1"));
  await settle();
  stop.abort();
  await workers.done;
  assert.deepEqual(work.calls, ["sync u1"]);
});

const byText = (a: string, b: string) => (a < b ? -1 : 1);

type Step =
  | { kind: "add" | "remove" | "poke" | "end" | "orphan"; pod: number }
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
      kind: fc.constantFrom("poke" as const, "end" as const, "orphan" as const),
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

test("in any order of events: work on a pod is serial, namesakes never overlap, and what is wanted at the end runs", async () => {
  const rank = { syncing: 0, terminating: 1, terminated: 2 };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40, size: "max" }), async (steps) => {
      const { clock, work, workers } = setUp();
      // Pods 0/1 and 2/3 are two versions of the same static pod.
      const podOf = (n: number) => pod(`u${n}`, `name${Math.floor(n / 2)}`);
      const wanted = new Map<string, PodUid>();
      const phases = new Map<object, number>();
      const look = () => {
        for (const worker of workers.all()) {
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
            const former = wanted.get(p.metadata.name);
            // A source never gives two pods of the same name at once.
            if (former && former !== p.metadata.uid) workers.terminate(former, { removed: true });
            wanted.set(p.metadata.name, p.metadata.uid);
            workers.update(p);
            break;
          }
          case "remove": {
            const p = podOf(s.pod);
            if (wanted.get(p.metadata.name) !== p.metadata.uid) break;
            wanted.delete(p.metadata.name);
            workers.terminate(p.metadata.uid, { removed: true });
            break;
          }
          case "poke":
            workers.poke(uid(`u${s.pod}`));
            break;
          case "end":
            work.ended.add(uid(`u${s.pod}`));
            break;
          case "orphan":
            if (work.running.has(uid(`u${s.pod}`)))
              workers.terminateOrphan({
                uid: uid(`u${s.pod}`),
                name: `name${Math.floor(s.pod / 2)}`,
                namespace: "default",
              });
            break;
          case "fail":
            work.failures = s.times;
            break;
          case "slow":
            work.delayMs = s.ms;
            break;
          case "wait":
            await clock.advance(s.ms);
            break;
          default:
            s satisfies never;
        }
        await settle(1);
        look();
      }
      work.failures = 0;
      work.delayMs = 0;
      await clock.advance(100_000);
      look();
      assert.deepEqual(work.violations, []);
      const shouldRun = [...wanted.values()].filter((id) => !work.ended.has(id)).toSorted(byText);
      assert.deepEqual([...work.running.keys()].toSorted(byText), shouldRun);
      assert.deepEqual(
        [...workers.all()].map((w) => w.id.uid).toSorted(byText),
        [...wanted.values()].toSorted(byText),
      );
    }),
    { numRuns: Number(process.env.PROPERTY_RUNS ?? 300) },
  );
});

test("a pod that is to end while the runtime is busy with its start says what it waits for", async () => {
  const { work, workers, clock } = setUp();
  workers.release();
  const busy = Promise.withResolvers<void>();
  work.sync = async () => {
    await busy.promise;
    return {};
  };
  workers.update(pod("u1"));
  await settle();
  workers.terminate(uid("u1"), { removed: true });
  assert.equal(workers.get(uid("u1"))?.blockedOn?.text, "waiting for the runtime to finish what was begun");
  busy.resolve();
  await clock.advance(10);
  assert.equal(workers.get(uid("u1")), undefined);
});
