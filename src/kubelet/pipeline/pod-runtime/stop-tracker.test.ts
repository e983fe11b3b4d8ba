import assert from "node:assert/strict";
import { test } from "node:test";
import { monotonicTime } from "../../../lib/base/fake-clock.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { type StopHook, StopTracker } from "./stop-tracker.ts";

const uid = "u" as PodUid;
const a = "a" as ContainerId;
const hook: StopHook = {
  failed: false,
  running: true,
  doneBy: async () => {},
  cancelWithContainer() {},
  cancel() {},
};

test("a stop that continues keeps its hook, and its grace period only gets shorter", () => {
  const stops = new StopTracker();
  const { stop, first } = stops.start(uid, a, monotonicTime(1000));
  stop.hook = hook;
  assert.equal(first, true);
  for (const [endsAt, expected] of [
    [2000, 1000],
    [500, 500],
  ] as const) {
    const again = stops.start(uid, a, monotonicTime(endsAt));
    assert.deepEqual([again.first, again.stop.endsAt, again.stop.hook], [false, expected, hook]);
  }
});

test("a failed stop gets the full grace period the next time, and its hook runs again only if it failed too", () => {
  for (const failed of [false, true]) {
    const stops = new StopTracker();
    stops.start(uid, a, monotonicTime(1000)).stop.hook = { ...hook, failed };
    stops.failed(a);
    const { stop } = stops.start(uid, a, monotonicTime(5000));
    assert.deepEqual([stop.endsAt, stop.hook === undefined], [5000, failed]);
  }
});

test("a container that disappeared while it was being stopped is dropped with its pod", () => {
  const stops = new StopTracker();
  stops.start(uid, a, monotonicTime(1000));
  stops.failed(a);
  stops.start("other" as PodUid, "b" as ContainerId, monotonicTime(1000));
  stops.forget(uid);
  assert.equal(stops.size, 1);
  assert.equal(stops.start(uid, a, monotonicTime(1000)).first, true);
});
