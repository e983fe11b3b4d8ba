import assert from "node:assert/strict";
import { test } from "node:test";
import { aSandbox, seen, seenContainer } from "../../../../test/builders/pods.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import type { SandboxId } from "../../../lib/clients/cri/cri.ts";
import type { ObservedPod } from "../../state/observed-pods.ts";
import { ContainerGc } from "./container-gc.ts";
import type { PodStanding } from "./container-plan.ts";

function setUp(pod: ObservedPod, standing: PodStanding) {
  const clock = new FakeClock();
  const calls: string[] = [];
  const events: string[] = [];
  const faults = new Set<string>();
  const call = (what: string) => async (id: string) => {
    if (faults.has(id)) throw new Error("device is busy");
    calls.push(`${what} ${id}`);
  };
  const gc = new ContainerGc({
    runtime: {
      stopContainer: call("stop"),
      removeContainer: call("remove"),
      stopPodSandbox: call("stop"),
      removePodSandbox: call("remove"),
    },
    observed: () => [pod],
    standing: () => standing,
    dropLogs: async (_pod, { id }) => void calls.push(`drop logs of ${id}`),
    refresh: async (uid) => void calls.push(`look at ${uid.slice(0, 1)}`),
    policy: { minAgeMs: 0, maxPerContainer: 1, maxContainers: -1 },
    clock,
    logger: silentLogger,
    events: { warning: (reason, message) => events.push(`${reason}: ${message}`) },
  });
  return { clock, gc, calls, events, faults };
}

const dead = (name: string, attempt: number) => seenContainer(name, { state: "exited", attempt });
const endedSandbox = aSandbox({ id: "s0" as SandboxId, state: "notready" });

test("containers go before their sandbox, with their logs, and the runtime is looked at afterwards", async () => {
  const { gc, calls } = setUp(seen([dead("a", 1), dead("a", 0)], [endedSandbox]), "gone");
  await gc.collect();
  assert.deepEqual(calls, [
    "remove a-0",
    "drop logs of a-0",
    "remove a-1",
    "drop logs of a-1",
    "stop s0",
    "remove s0",
    "look at 1",
  ]);
});

test("nothing to do: the runtime is not asked anything", async () => {
  const { gc, calls } = setUp(seen([dead("a", 1)]), "live");
  await gc.collect();
  assert.deepEqual(calls, []);
});

test("what may run for all that anyone knows is stopped first", async () => {
  const { gc, calls } = setUp(seen([seenContainer("a", { state: "unknown" })]), "gone");
  await gc.collect();
  assert.deepEqual(calls.slice(0, 2), ["stop a-0", "remove a-0"]);
});

test("one that cannot be removed does not keep the others, but keeps its sandbox", async () => {
  const { gc, calls, faults } = setUp(seen([dead("b", 1), dead("a", 0)], [endedSandbox]), "gone");
  faults.add("a-0");
  await assert.rejects(gc.collect(), /cannot be removed: container a-0: device is busy/);
  assert.deepEqual(calls, ["remove b-1", "drop logs of b-1", "look at 1"]);
});

test("when room is needed, pods that have ended keep nothing", async () => {
  const { gc, calls } = setUp(seen([dead("a", 0)], [endedSandbox]), "ended");
  await gc.collect();
  assert.deepEqual(calls, []);
  await gc.collect({ clearEnded: true });
  assert.deepEqual(calls, ["remove a-0", "drop logs of a-0", "stop s0", "remove s0", "look at 1"]);
});

test("it looks now and every minute, and tells of failures", async () => {
  const { gc, clock, calls, events, faults } = setUp(seen([dead("a", 1), dead("a", 0)]), "live");
  const stop = new AbortController();
  faults.add("a-0");
  await gc.start(stop.signal);
  await clock.advance(0);
  assert.deepEqual(events, ["ContainerGCFailed: cannot be removed: container a-0: device is busy"]);
  faults.clear();
  await clock.advance(59_999);
  assert.deepEqual(calls, ["look at 1"]);
  await clock.advance(1);
  assert.deepEqual(calls, ["look at 1", "remove a-0", "drop logs of a-0", "look at 1"]);
  stop.abort();
  await gc.done;
  assert.equal(clock.pending, 0);
});
