import assert from "node:assert/strict";
import { test } from "node:test";
import { wallTime } from "../../lib/base/time.ts";
import { FailedPods } from "./failed-pods.ts";
import type { PodExplanation } from "./pod-explanation.ts";

const hour = 3_600_000;
const failed = (name: string, at: number): PodExplanation => ({
  namespace: "default",
  name,
  uid: name,
  source: "api",
  phase: "Failed",
  ready: false,
  seenAt: "",
  cause: "c",
  raw: null,
  try: null,
  failedAt: new Date(at).toISOString(),
  waitsFor: null,
  details: [],
  lastError: null,
  start: null,
  history: [],
  dropped: 0,
});
const names = (pods: FailedPods, now: number) => pods.all(wallTime(now)).map(({ name }) => name);

test("a pod is kept until an hour after it failed, whenever it was removed", () => {
  const pods = new FailedPods();
  pods.add(failed("a", 0), wallTime(1000));
  pods.add(failed("b", 2000), wallTime(hour - 1));
  assert.deepEqual(names(pods, hour - 1), ["a", "b"]);
  assert.deepEqual(names(pods, hour), ["b"]);
  assert.deepEqual(names(pods, hour + 2000), []);
});

test("the newest hundred are kept", () => {
  const pods = new FailedPods();
  for (let i = 0; i < 103; i++) pods.add(failed(`p${i}`, i), wallTime(i));
  assert.equal(pods.all(wallTime(200)).length, 100);
  assert.equal(pods.all(wallTime(200))[0]?.name, "p3");
});

test("the time of removal is recorded, and a removed pod waits for nothing", () => {
  const pods = new FailedPods();
  const waitsFor = { step: "status" as const, text: "x", since: "" };
  pods.add({ ...failed("a", 0), waitsFor }, wallTime(5000));
  const [pod] = pods.all(wallTime(5000));
  assert.deepEqual([pod?.goneAt, pod?.waitsFor], ["1970-01-01T00:00:05.000Z", null]);
});
