import assert from "node:assert/strict";
import { test } from "node:test";
import { anObservedContainer, anObservedPod, aSandbox } from "../../../../test/builders/pods.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import type { SandboxId } from "../../../lib/clients/cri/cri.ts";
import type { ObservedPod } from "../../state/observed-pods.ts";
import { ContainerGc } from "./container-gc.ts";
import type { PodGcState } from "./container-plan.ts";

function setUp(pod: ObservedPod, gcState: PodGcState) {
  const clock = new FakeClock();
  const calls: string[] = [];
  const events: string[] = [];
  const failing = new Set<string>();
  const call = (what: string) => async (id: string) => {
    if (failing.has(id)) throw new Error("device is busy");
    calls.push(`${what} ${id}`);
  };
  const gc = new ContainerGc({
    runtime: {
      stopContainer: call("stop"),
      removeContainer: call("remove"),
      stopPodSandbox: call("stop"),
      removePodSandbox: call("remove"),
    },
    observed: { all: () => [pod] },
    gcState: () => gcState,
    files: { removeLogs: async (_pod, { id }) => void calls.push(`remove logs of ${id}`) },
    pleg: { refresh: async (uid) => void calls.push(`refresh ${uid.slice(0, 1)}`) },
    policy: { minAgeMs: 0, maxPerContainer: 1, maxContainers: -1 },
    clock,
    logger: silentLogger,
    events: { warning: (reason, message) => events.push(`${reason}: ${message}`) },
  });
  return { clock, gc, calls, events, failing };
}

const dead = (name: string, attempt: number) => anObservedContainer(name, { state: "exited", attempt });
const deadSandbox = aSandbox({ id: "s0" as SandboxId, state: "notready" });

test("containers are removed with their logs and before their sandbox, then the pod is relisted", async () => {
  const { gc, calls } = setUp(anObservedPod([dead("a", 1), dead("a", 0)], [deadSandbox]), "orphaned");
  await gc.collect();
  assert.deepEqual(calls, [
    "remove a-0",
    "remove logs of a-0",
    "remove a-1",
    "remove logs of a-1",
    "stop s0",
    "remove s0",
    "refresh 1",
  ]);
});

test("the runtime is not called if there is nothing to remove", async () => {
  const { gc, calls } = setUp(anObservedPod([dead("a", 1)]), "active");
  await gc.collect();
  assert.deepEqual(calls, []);
});

test("a container in unknown state is stopped first", async () => {
  const { gc, calls } = setUp(anObservedPod([anObservedContainer("a", { state: "unknown" })]), "orphaned");
  await gc.collect();
  assert.deepEqual(calls.slice(0, 2), ["stop a-0", "remove a-0"]);
});

test("a container that cannot be removed does not block the others, but keeps its sandbox", async () => {
  const { gc, calls, failing } = setUp(
    anObservedPod([dead("b", 1), dead("a", 0)], [deadSandbox]),
    "orphaned",
  );
  failing.add("a-0");
  await assert.rejects(gc.collect(), /cannot be removed: container a-0: device is busy/);
  assert.deepEqual(calls, ["remove b-1", "remove logs of b-1", "refresh 1"]);
});

test("removeTerminated removes all containers of terminated pods", async () => {
  const { gc, calls } = setUp(anObservedPod([dead("a", 0)], [deadSandbox]), "terminated");
  await gc.collect();
  assert.deepEqual(calls, []);
  await gc.collect({ removeTerminated: true });
  assert.deepEqual(calls, ["remove a-0", "remove logs of a-0", "stop s0", "remove s0", "refresh 1"]);
});

// parity: event ContainerGCFailed
test("container garbage collection runs immediately and every minute, and reports failures", async () => {
  const { gc, clock, calls, events, failing } = setUp(anObservedPod([dead("a", 1), dead("a", 0)]), "active");
  const stop = new AbortController();
  failing.add("a-0");
  await gc.start(stop.signal);
  await clock.advance(0);
  assert.deepEqual(events, ["ContainerGCFailed: cannot be removed: container a-0: device is busy"]);
  failing.clear();
  await clock.advance(59_999);
  assert.deepEqual(calls, ["refresh 1"]);
  await clock.advance(1);
  assert.deepEqual(calls, ["refresh 1", "remove a-0", "remove logs of a-0", "refresh 1"]);
  stop.abort();
  await gc.done;
  assert.equal(clock.pending, 0);
});
