import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, settle } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import type { PodUid } from "../../lib/model/pod.ts";
import { FakeConsoleNode, fakeConsolePod } from "../fake-console-node.ts";
import type { Changes, Snapshot } from "../protocol.ts";
import { Feed } from "./feed.ts";

const uid = (name: string) => name as PodUid;
const podNamed = (name: string) => fakeConsolePod({ metadata: { name, uid: uid(name) } });

function setUp() {
  const clock = new FakeClock();
  const node = new FakeConsoleNode().add(podNamed("a"), podNamed("b"));
  return { clock, node, feed: new Feed({ node, clock, logger: silentLogger }) };
}

test("nothing is computed, sampled or kept while there is no viewer", async () => {
  const { feed, node, clock } = setUp();
  for (let i = 0; i < 1000; i++) feed.podChanged(uid("a"));
  feed.podRemoved(uid("b"));
  feed.nodeChanged();
  await clock.advance(600_000);
  assert.deepEqual(node.counts, { pod: 0, state: 0, usage: 0, images: 0 });
  assert.equal(feed.since(undefined), undefined);
});

test("a viewer gets a snapshot, then only what has changed", async () => {
  const { feed, node } = setUp();
  feed.subscribe(() => true);
  const first = feed.since(undefined)!;
  assert.deepEqual(
    (first.message as Snapshot).pods.map(({ name }) => name),
    ["a", "b"],
  );
  node.add(podNamed("c"));
  feed.podChanged(uid("c"));
  feed.podRemoved(uid("a"));
  const second = feed.since(first.id)!;
  const changes = second.message as Changes;
  assert.deepEqual(
    changes.pods?.map(({ name }) => name),
    ["c"],
  );
  assert.deepEqual(changes.removed, ["a"]);
  assert.equal(changes.node, undefined);
  assert.equal(feed.since(second.id), undefined);
});

test("a late event of a removed pod does not bring it back, and a pod of the same UID does", () => {
  const { feed, node } = setUp();
  feed.subscribe(() => true);
  const first = feed.since(undefined)!;
  const [a] = [...node.pods.values()];
  node.pods.delete("a");
  feed.podRemoved(uid("a"));
  feed.podChanged(uid("a"));
  const second = feed.since(first.id)!;
  assert.deepEqual(
    [(second.message as Changes).pods, (second.message as Changes).removed],
    [undefined, ["a"]],
  );
  // For a viewer that has already received the removal and one that has not.
  for (const { id } of [first, second])
    assert.equal((feed.since(id)?.message as Changes | undefined)?.pods, undefined);
  node.add(a!);
  feed.podChanged(uid("a"));
  for (const { id } of [first, second]) {
    const { pods, removed } = feed.since(id)!.message as Changes;
    assert.deepEqual([pods?.map(({ name }) => name), removed], [["a"], undefined]);
  }
});

test("a changed pod is computed once for all viewers", () => {
  const { feed, node } = setUp();
  for (let i = 0; i < 10; i++) feed.subscribe(() => true);
  const ids = Array.from({ length: 10 }, () => feed.since(undefined)!.id);
  assert.equal(node.counts.pod, 2);
  for (let i = 0; i < 50; i++) feed.podChanged(uid("a"));
  for (const id of ids) assert.equal((feed.since(id)!.message as Changes).pods?.length, 1);
  assert.equal(node.counts.pod, 3);
});

test("a page that reconnects within 30 s continues, later it gets a snapshot", async () => {
  const { feed, clock } = setUp();
  const leave = feed.subscribe(() => true);
  const { id } = feed.since(undefined)!;
  leave();
  feed.podChanged(uid("b"));
  await clock.advance(29_000);
  const back = feed.subscribe(() => true);
  assert.equal(feed.since(id)!.message.kind, "changes");
  back();
  await clock.advance(31_000);
  feed.subscribe(() => true);
  assert.equal(feed.since(id)!.message.kind, "snapshot");
});

test("positions of another run, of the future or without sense get a snapshot", () => {
  const { feed } = setUp();
  feed.subscribe(() => true);
  const { id } = feed.since(undefined)!;
  const [epoch] = id.split(":");
  for (const wrong of ["", "x", `${epoch}:99999`, `${epoch}:-1`, `${epoch}:NaN`, `${epoch}:`, "ffffff:1"])
    assert.equal(feed.since(wrong)?.message.kind, "snapshot", wrong);
});

test("more removed pods than are kept lead to a snapshot", () => {
  const { feed } = setUp();
  feed.subscribe(() => true);
  const { id } = feed.since(undefined)!;
  for (let i = 0; i < 1001; i++) feed.podRemoved(uid(`gone-${i}`));
  assert.equal(feed.since(id)!.message.kind, "snapshot");
});

test("usage is sampled every 5 s while there is a viewer, and 30 s longer", async () => {
  const { feed, node, clock } = setUp();
  const leave = feed.subscribe(() => true);
  await settle();
  for (let i = 0; i < 12; i++) await clock.advance(5000);
  assert.equal(node.counts.usage, 13);
  const { usage, node: state } = feed.since(undefined)!.message as Snapshot;
  assert.equal(usage.times.length, 13);
  assert.deepEqual(usage.node.cpu.at(-1), 0.5);
  assert.equal(usage.pods.a?.memory.at(-1), 1000);
  assert.deepEqual(state.resources.find(({ name }) => name === "cpu")?.used, 0.5);
  assert.equal(state.agent.memory, 50_000_000);
  // A rate of traffic is computed from two whole samples. Here there are three samples of 5 s with 1000 bytes each.
  assert.equal(usage.node.rx.at(-1), 200);
  leave();
  for (let i = 0; i < 12; i++) await clock.advance(5000);
  assert.ok(node.counts.usage <= 20, String(node.counts.usage));
  const after = node.counts.usage;
  await clock.advance(600_000);
  assert.equal(node.counts.usage, after);
});

test("a node that cannot be measured does not end the samples", async () => {
  const { feed, node, clock } = setUp();
  let fails = true;
  const measure = node.usage.bind(node);
  node.usage = async (whole) => {
    if (fails) throw new Error("no runtime");
    return measure(whole);
  };
  feed.subscribe(() => true);
  await settle();
  await clock.advance(5000);
  fails = false;
  await clock.advance(5000);
  assert.equal((feed.since(undefined)!.message as Snapshot).usage.times.length, 1);
});

test("equal events are counted, and the oldest are dropped", () => {
  const { feed } = setUp();
  const pod = { uid: "a", namespace: "default", name: "a" };
  feed.event({ pod, type: "Warning", reason: "BackOff", message: "again" });
  feed.subscribe(() => true);
  const first = feed.since(undefined)!;
  feed.event({ pod, type: "Warning", reason: "BackOff", message: "again" });
  const { events } = feed.since(first.id)!.message as Changes;
  assert.deepEqual(
    events?.map(({ id, count }) => [id, count]),
    [[1, 2]],
  );
  for (let i = 0; i < 300; i++) feed.event({ type: "Normal", reason: "R", message: String(i) });
  assert.equal((feed.since(undefined)!.message as Snapshot).events.length, 200);
  assert.deepEqual(feed.eventsOf("a"), []);
});

test("a sample that was taken before a pod was removed leaves nothing of it", async () => {
  const { feed, node, clock } = setUp();
  const removed = node.pods.get("b")!;
  feed.subscribe(() => true);
  await settle();
  const measure = node.usage.bind(node);
  node.usage = async (whole) => {
    node.add(removed);
    const sample = await measure(whole);
    node.pods.delete("b");
    return sample;
  };
  node.pods.delete("b");
  feed.podRemoved(uid("b"));
  await clock.advance(5000);
  feed.podChanged(uid("b"));
  await clock.advance(5000);
  const { usage } = feed.since(undefined)!.message as Snapshot;
  assert.deepEqual([Object.keys(usage.pods), usage.times.length], [["a"], 3]);
  await clock.advance(5000);
  assert.deepEqual(feed.usageOf("b").times, []);
});

test("samples over hours add no listeners", async (t) => {
  const { feed, clock } = setUp();
  const added = t.mock.method(AbortSignal.prototype, "addEventListener");
  feed.subscribe(() => true);
  await settle();
  for (let i = 0; i < 100; i++) await clock.advance(5000);
  assert.ok(added.mock.callCount() <= 3, String(added.mock.callCount()));
});
