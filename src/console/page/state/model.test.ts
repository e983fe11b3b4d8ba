import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodEvent } from "../../protocol.ts";
import { podSummary, seriesOf, snapshot, usageOf } from "./fixtures.ts";
import { emptyModel, reduce } from "./model.ts";

const start = reduce(emptyModel, snapshot([podSummary("a"), podSummary("b")]), 4000);
const changes = { kind: "changes", now: 9000 } as const;
const event = (id: number, count = 1) => ({ id, count }) as PodEvent;

test("a snapshot replaces all state, and sets the clock of the node", () => {
  assert.deepEqual([...start.pods.keys()], ["a", "b"]);
  assert.equal(start.clockOffset, 1000);
  const next = reduce(start, snapshot([podSummary("c")]), 5000);
  assert.deepEqual([[...next.pods.keys()], next.clockOffset], [["c"], 0]);
});

test("changes replace only the pods that they name", () => {
  const changed = podSummary("b", { restarts: 3 });
  const next = reduce(start, { ...changes, pods: [changed, podSummary("c")], removed: ["a"] }, 9000);
  assert.deepEqual([...next.pods.keys()], ["b", "c"]);
  assert.equal(next.pods.get("b"), changed);
});

test("parts that a message does not change remain the same objects", () => {
  const next = reduce(start, { ...changes, node: { ...start.node!, name: "other" } }, 9000);
  assert.equal(next.pods, start.pods);
  assert.equal(next.usage, start.usage);
  assert.equal(next.events, start.events);
  const pod = reduce(start, { ...changes, pods: [podSummary("b", { restarts: 1 })] }, 9000);
  assert.equal(pod.pods.get("a"), start.pods.get("a"));
});

test("a pod that is removed and recreated in one message exists", () => {
  const next = reduce(start, { ...changes, pods: [podSummary("a")], removed: ["a"] }, 9000);
  assert.ok(next.pods.has("a"));
});

test("samples are appended to the series of the node and of pods", () => {
  const usage = { intervalMs: 5000, times: [1000, 2000], node: seriesOf(1, 2), pods: { a: seriesOf(5) } };
  const before = reduce(emptyModel, snapshot([podSummary("a"), podSummary("b")], { usage }), 0);
  const sample = { at: 3000, node: usageOf(3), pods: { b: usageOf(7) } };
  const { usage: after } = reduce(before, { ...changes, usage: [sample] }, 0);
  assert.deepEqual(after.times, [1000, 2000, 3000]);
  assert.deepEqual(after.node.cpu, [1, 2, 3]);
  assert.deepEqual(after.pods.get("a")?.cpu, [5, null]);
  assert.deepEqual(after.pods.get("b")?.cpu, [7]);
});

test("samples older than an hour, repeated samples and series of removed pods are dropped", () => {
  const hour = 3_600_000;
  const usage = { intervalMs: 5000, times: [0, 2000], node: seriesOf(1, 2), pods: { gone: seriesOf(1) } };
  const before = reduce(emptyModel, snapshot([], { usage }), 0);
  const sample = { at: hour + 1000, node: usageOf(3), pods: {} };
  const { usage: after } = reduce(before, { ...changes, usage: [sample, sample] }, 0);
  assert.deepEqual([after.times, after.node.cpu, after.pods.size], [[2000, hour + 1000], [2, 3], 0]);
});

test("an event whose count changed replaces the former, and at most 200 are kept", () => {
  const many = Array.from({ length: 200 }, (_, id) => event(id));
  const before = reduce(emptyModel, snapshot([], { events: many }), 0);
  const { events } = reduce(before, { ...changes, events: [event(5, 2), event(300)] }, 0);
  assert.equal(events.length, 200);
  assert.deepEqual(events.slice(-2), [event(5, 2), event(300)]);
  assert.equal(events.filter(({ id }) => id === 5).length, 1);
});

test("the end of the stream keeps the state until the next snapshot", () => {
  const ended = reduce(start, { kind: "bye", reason: "stopping" }, 0);
  assert.deepEqual([ended.ended, ended.pods], ["stopping", start.pods]);
  assert.equal(reduce(ended, snapshot([]), 0).ended, undefined);
});
