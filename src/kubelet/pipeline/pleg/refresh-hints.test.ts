import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { ContainerEventType } from "../../../lib/gen/runtime/v1/api_pb.js";
import type { PodUid } from "../../../lib/model/pod.ts";
import type { ObservedPod } from "../../state/observed-pods.ts";
import { RefreshHints } from "./refresh-hints.ts";

const uid = "u" as PodUid;
const [created, started, stopped, deleted] = [
  ContainerEventType.CONTAINER_CREATED_EVENT,
  ContainerEventType.CONTAINER_STARTED_EVENT,
  ContainerEventType.CONTAINER_STOPPED_EVENT,
  ContainerEventType.CONTAINER_DELETED_EVENT,
] as const;

const observedPod = (
  sandbox?: "ready" | "notready",
  container?: "created" | "running" | "exited" | "unknown",
) =>
  ({
    uid,
    name: "p",
    namespace: "n",
    sandboxes: sandbox ? [{ id: "s", state: sandbox }] : [],
    containers: container ? [{ id: "c", state: container }] : [],
  }) as unknown as ObservedPod;

function setUp(pod: ObservedPod | undefined, refresh: () => Promise<void> = async () => {}) {
  const clock = new FakeClock();
  const state = { pod, refreshed: 0, stopped: [] as string[], relists: 0, isStarting: false };
  const hints = new RefreshHints({
    clock,
    observed: { get: () => state.pod },
    pleg: {
      refreshNow() {
        state.refreshed++;
        return refresh();
      },
      stopped(_uid, id) {
        state.stopped.push(id);
        return refresh();
      },
      relistSoon: () => state.relists++,
    },
    limiter: { isRunning: () => state.isStarting },
  });
  return { hints, state, clock };
}

const rows: [string, ObservedPod | undefined, string, ContainerEventType, refreshes: boolean | "read"][] = [
  ["a sandbox that is known was created", observedPod("ready"), "s", created, false],
  ["a sandbox that is known was started", observedPod("ready"), "s", started, false],
  ["a sandbox that is not ready was started", observedPod("notready"), "s", started, true],
  ["an unknown sandbox was created", undefined, "s", created, true],
  ["an unknown sandbox was started", undefined, "s", started, true],
  ["a known container was created", observedPod("ready", "created"), "c", created, false],
  ["an unknown container was created", observedPod("ready"), "c", created, true],
  ["a created container was started", observedPod("ready", "created"), "c", started, true],
  ["a running container was started", observedPod("ready", "running"), "c", started, false],
  ["an exited container was started", observedPod("ready", "exited"), "c", started, false],
  ["a container in an unknown state was started", observedPod("ready", "unknown"), "c", started, true],
  ["a running container has stopped", observedPod("ready", "running"), "c", stopped, "read"],
  ["an exited container has stopped", observedPod("ready", "exited"), "c", stopped, false],
  ["an unknown container has stopped", observedPod("ready"), "c", stopped, "read"],
  ["a ready sandbox has stopped", observedPod("ready"), "s", stopped, "read"],
  ["a sandbox that is not ready has stopped", observedPod("notready"), "s", stopped, false],
  ["a known container was deleted", observedPod("ready", "exited"), "c", deleted, true],
  ["a known sandbox was deleted", observedPod("notready"), "s", deleted, true],
  ["an unknown container was deleted", observedPod("notready"), "c", deleted, false],
  ["a container of an unknown pod was deleted", undefined, "c", deleted, false],
  ["an event has an unknown type", observedPod("ready", "running"), "c", 99 as ContainerEventType, true],
];

for (const [name, pod, id, type, refreshes] of rows)
  test(`${name}: ${refreshes === "read" ? "its status is read" : refreshes ? "the pod is refreshed" : "nothing is requested"}`, async () => {
    const { hints, state, clock } = setUp(pod);
    hints.received(uid, { id, type });
    await clock.advance(1000);
    assert.equal(state.refreshed, refreshes === true ? 1 : 0);
    assert.deepEqual(state.stopped, refreshes === "read" ? [id] : []);
  });

test("an exit is observed immediately, a start after the time that the agent's own call needs", async () => {
  const { hints, state, clock } = setUp(observedPod("ready", "created"));
  hints.received(uid, { id: "c", type: started });
  hints.received(uid, { id: "c", type: stopped });
  assert.deepEqual([state.stopped, state.refreshed], [["c"], 0]);
  await clock.advance(250);
  assert.equal(state.refreshed, 1);
});

test("events whose result is observed in the meantime need no refresh", async () => {
  const { hints, state, clock } = setUp(undefined);
  for (const type of [created, started]) hints.received(uid, { id: "s", type });
  hints.received(uid, { id: "c", type: created });
  state.pod = observedPod("ready", "running");
  await clock.advance(1000);
  assert.equal(state.refreshed, 0);
});

test("several events of a pod need one refresh", async () => {
  const { hints, state, clock } = setUp(undefined);
  for (const type of [created, started]) hints.received(uid, { id: "s", type });
  await clock.advance(1000);
  assert.equal(state.refreshed, 1);
});

test("while the agent starts something of the pod, only an exit is observed", async () => {
  const { hints, state, clock } = setUp(observedPod("ready"));
  state.isStarting = true;
  hints.received(uid, { id: "c", type: created });
  await clock.advance(5000);
  assert.equal(state.refreshed, 0);
  hints.received(uid, { id: "c", type: stopped });
  assert.deepEqual([state.stopped, state.refreshed], [["c"], 0]);
  state.isStarting = false;
  await clock.advance(250);
  assert.equal(state.refreshed, 1);
});

test("a container that the agent's own call started needs no refresh, however long the call took", async () => {
  const { hints, state, clock } = setUp(observedPod("ready"));
  state.isStarting = true;
  for (const type of [created, started]) hints.received(uid, { id: "c", type });
  await clock.advance(5000);
  state.isStarting = false;
  state.pod = observedPod("ready", "running");
  await clock.advance(250);
  assert.equal(state.refreshed, 0);
});

test("a start that hangs delays the refresh by 10 s, and leaves no timer", async () => {
  const { hints, state, clock } = setUp(observedPod("ready"));
  state.isStarting = true;
  hints.received(uid, { id: "c", type: created });
  await clock.advance(10_000);
  assert.equal(state.refreshed, 0);
  await clock.advance(250);
  assert.equal(state.refreshed, 1);
  assert.equal(clock.pending, 0);
});

for (const type of [created, stopped])
  test(`a failed observation after event ${ContainerEventType[type]} causes a relist`, async () => {
    const { hints, state, clock } = setUp(undefined, () => Promise.reject(new Error("unavailable")));
    hints.received(uid, { id: "s", type });
    await clock.advance(1000);
    assert.equal(state.relists, 1);
  });
