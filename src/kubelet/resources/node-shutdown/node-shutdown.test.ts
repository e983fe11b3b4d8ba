import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { aPod } from "../../../../test/builders/pods.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { FakeShutdownNode, type FakeShutdownPod } from "./fake-shutdown-node.ts";
import type { NodeShutdownOptions } from "./node-shutdown.ts";

const critical = 2_000_000_000;
const periods = [
  { priority: 0, seconds: 20 },
  { priority: critical, seconds: 10 },
];

function pod(
  name: string,
  priority: number,
  more: Partial<FakeShutdownPod> & { grace?: number } = {},
): FakeShutdownPod {
  const { grace = 30, ...rest } = more;
  return {
    pod: aPod({ priority, terminationGracePeriodSeconds: grace }, { name, uid: name as PodUid }),
    stopsMs: 5000,
    ...rest,
  };
}

async function setUp(
  t: TestContext,
  pods: readonly FakeShutdownPod[],
  {
    before = () => {},
    ...more
  }: Partial<NodeShutdownOptions> & { before?: (node: FakeShutdownNode) => void } = {},
) {
  const clock = new FakeClock();
  const node = new FakeShutdownNode(clock, pods, periods, more);
  before(node);
  await node.start();
  await clock.advance(10);
  t.after(async () => {
    const stopped = node.stop();
    await clock.advance(1);
    await stopped;
  });
  /** When each pod was requested to terminate, in seconds after PrepareForShutdown. */
  const times = (from = 0) =>
    Object.fromEntries([...node.terminated].map(([uid, one]) => [uid, Math.round((one.from - from) / 1000)]));
  return { clock, node, times };
}

test("a lock is held while nothing happens", async (t) => {
  const { clock, node } = await setUp(t, [pod("a", 0)]);
  await clock.advance(3_600_000);
  assert.deepEqual([node.held, node.requests, node.terminated.size, node.state.since], [1, 1, 0, undefined]);
});

// parity: event Shutdown
test("critical pods terminate when all others have, and the lock is released after them", async (t) => {
  const { clock, node, times } = await setUp(t, [
    pod("critical", critical, { stopsMs: 4000 }),
    pod("quick", 0, { stopsMs: 1000 }),
    pod("slow", 100, { stopsMs: 7000, unmountsMs: 2000 }),
  ]);
  node.prepare(true);
  await clock.advance(1);
  assert.notEqual(node.state.since, undefined);
  assert.deepEqual(node.events, ["node Shutdown: Shutdown manager detected shutdown event"]);
  await clock.advance(8900);
  assert.deepEqual(times(), { quick: 0, slow: 0 });
  await clock.advance(300);
  assert.deepEqual(times(), { quick: 0, slow: 0, critical: 9 });
  assert.equal(node.held, 1);
  await clock.advance(3500);
  assert.equal(node.held, 1);
  await clock.advance(1000);
  assert.equal(node.held, 0);
  assert.deepEqual(
    [...node.terminated.values()].map(({ graceSeconds }) => graceSeconds),
    [20, 20, 10],
  );
});

test("a group without pods takes no time", async (t) => {
  const { clock, node, times } = await setUp(t, [pod("critical", critical)]);
  node.prepare(true);
  await clock.advance(100);
  assert.deepEqual(times(), { critical: 0 });
});

test("a pod that does not terminate costs the time of its group, and gets an event", async (t) => {
  const { clock, node, times } = await setUp(t, [
    pod("stuck", 0, { isStuck: true }),
    pod("critical", critical, { stopsMs: 1000 }),
  ]);
  node.prepare(true);
  await clock.advance(19_900);
  assert.deepEqual(times(), { stuck: 0 });
  await clock.advance(2500);
  assert.deepEqual(times(), { stuck: 0, critical: 20 });
  assert.equal(node.held, 0);
  assert.deepEqual(node.logged, ["Shutdown manager pod killing time out"]);
  await clock.advance(10_000);
  assert.equal(node.events.at(-1), "stuck ExceededGracePeriod");
});

test("statuses that the API server does not accept delay the next group by 2 s", async (t) => {
  const { clock, node, times } = await setUp(t, [pod("a", 0, { stopsMs: 1000 }), pod("critical", critical)], {
    before: (one) => {
      one.isWritten = false;
    },
  });
  node.prepare(true);
  await clock.advance(2800);
  assert.deepEqual(times(), { a: 0 });
  await clock.advance(400);
  assert.deepEqual(times(), { a: 0, critical: 3 });
});

test("without an API server the next group does not wait for statuses", async (t) => {
  const pods = [pod("a", 0, { stopsMs: 1000 }), pod("critical", critical)];
  const { clock, node, times } = await setUp(t, pods, { apiStatuses: undefined });
  node.prepare(true);
  await clock.advance(1200);
  assert.deepEqual(times(), { a: 0, critical: 1 });
});

test("a PrepareForShutdown signal during a shutdown changes nothing", async (t) => {
  const { clock, node, times } = await setUp(t, [pod("a", 0), pod("critical", critical)]);
  node.prepare(true);
  await clock.advance(2000);
  node.prepare(true);
  await clock.advance(2500);
  assert.deepEqual([times(), node.held], [{ a: 0 }, 1]);
  await clock.advance(20_000);
  assert.deepEqual([times(), node.held], [{ a: 0, critical: 5 }, 0]);
  assert.equal(node.events.length, 1);
});

test("a shutdown that is canceled keeps the pods that were not terminated yet, and a new lock is taken", async (t) => {
  const { clock, node, times } = await setUp(t, [pod("a", 0), pod("critical", critical)]);
  node.prepare(true);
  await clock.advance(2000);
  node.prepare(false);
  await clock.advance(10);
  assert.deepEqual([node.state.since, node.held, node.requests], [undefined, 1, 2]);
  assert.equal(node.events.at(-1), "node Shutdown: Shutdown manager detected shutdown cancellation");
  await clock.advance(60_000);
  assert.deepEqual([times(), node.held], [{ a: 0 }, 1]);
  node.prepare(true);
  await clock.advance(1000);
  assert.deepEqual([times(), node.held], [{ a: 0, critical: 62 }, 1]);
  await clock.advance(10_000);
  assert.equal(node.held, 0);
});

test("a shutdown that is canceled after the lock was released takes a lock for the next one", async (t) => {
  const { clock, node } = await setUp(t, [pod("a", 0)]);
  node.prepare(true);
  await clock.advance(10_000);
  assert.equal(node.held, 0);
  node.prepare(false);
  await clock.advance(10);
  assert.deepEqual([node.state.since, node.held], [undefined, 1]);
});

test("a signal that logind does not confirm is ignored", async (t) => {
  const { clock, node, times } = await setUp(t, [pod("a", 0), pod("critical", critical)]);
  node.signal(true);
  await clock.advance(1000);
  assert.deepEqual([times(), node.state.since, node.held], [{}, undefined, 1]);
  node.prepare(true);
  await clock.advance(1000);
  node.signal(false);
  await clock.advance(20_000);
  assert.deepEqual([times(), node.held], [{ a: 1, critical: 6 }, 0]);
});

test("a PrepareForShutdown signal that was missed while the bus was restarted counts", async (t) => {
  const { clock, node, times } = await setUp(t, [pod("a", 0)]);
  node.isAvailable = false;
  node.disconnect();
  await clock.advance(3500);
  node.isPreparing = true;
  node.isAvailable = true;
  await clock.advance(8000);
  assert.equal(Object.keys(times()).length, 1);
  await clock.advance(20_000);
  assert.equal(node.held, 0);
});

test("after a restart of logind a new lock replaces the old one", async (t) => {
  const { clock, node } = await setUp(t, [pod("a", 0)]);
  node.disconnect();
  await clock.advance(1100);
  assert.deepEqual([node.requests, node.held], [2, 1]);
});

test("a logind that forgets a shutdown cancels it; one that has been released does not wait for it again", async (t) => {
  const { clock, node, times } = await setUp(t, [pod("a", 0), pod("critical", critical)]);
  node.prepare(true);
  await clock.advance(1000);
  node.isPreparing = false;
  node.disconnect();
  await clock.advance(1100);
  assert.deepEqual([node.state.since, node.held], [undefined, 1]);
  node.prepare(true);
  await clock.advance(30_000);
  assert.equal(node.held, 0);
  node.isPreparing = false;
  node.disconnect();
  await clock.advance(5000);
  assert.notEqual(node.state.since, undefined);
  assert.equal(node.held, 0);
  assert.equal(Object.keys(times()).length, 2);
});

test("a missing logind is logged once, and logind is used as soon as it is available", async (t) => {
  const { clock, node } = await setUp(t, [pod("a", 0)], {
    before: (one) => {
      one.isAvailable = false;
    },
  });
  await clock.advance(600_000);
  assert.deepEqual(node.logged, [
    "Failed to start node shutdown manager, pods are not terminated gracefully on shutdown",
  ]);
  assert.equal(node.manager.report().problem, "connect to D-Bus: no such file");
  node.isAvailable = true;
  await clock.advance(60_000);
  assert.deepEqual([node.held, node.manager.report().problem], [1, undefined]);
});

test("a delay that cannot be extended is logged once, and the lock is still held", async (t) => {
  const { clock, node } = await setUp(t, [pod("a", 0)], {
    // Nothing can be created below a file.
    confDir: "/proc/version/logind.conf.d",
    before: (one) => {
      one.delayMs = 5000;
    },
  });
  for (let waits = 0; node.held === 0 && waits < 1000; waits++) await clock.advance(10);
  node.disconnect();
  for (let waits = 0; node.requests < 2 && waits < 1000; waits++) await clock.advance(10);
  assert.equal(node.held, 1);
  assert.deepEqual(node.logged, [
    "Failed to extend logind's inhibit delay, a shutdown may end before pods have terminated",
  ]);
});

test("an agent that starts during a shutdown waits for its lists of pods, and terminates them", async (t) => {
  const { clock, node, times } = await setUp(t, [pod("a", 0)], {
    before: (one) => {
      one.isPreparing = true;
      one.isSynced = false;
    },
  });
  await clock.advance(1000);
  assert.deepEqual(times(), {});
  node.isSynced = true;
  await clock.advance(200);
  assert.equal(Object.keys(times()).length, 1);
  assert.equal(node.held, 0);
});

test("the report names the group that terminates and its pods", async (t) => {
  const { clock, node } = await setUp(t, [pod("a", 0), pod("critical", critical)]);
  assert.deepEqual(node.manager.report(), { periods, problem: undefined, last: undefined });
  node.prepare(true);
  await clock.advance(1000);
  const { active } = node.manager.report();
  assert.deepEqual([active?.priority, active?.waitsFor], [0, ["default/a"]]);
  await clock.advance(6000);
  assert.deepEqual(node.manager.report().active?.waitsFor, ["default/critical"]);
});

test("stopping the agent releases the lock, and no pod is terminated for it", async () => {
  const clock = new FakeClock();
  const node = new FakeShutdownNode(clock, [pod("a", 0)], periods);
  await node.start();
  await clock.advance(10);
  assert.equal(node.held, 1);
  await node.stop();
  assert.deepEqual([node.held, node.terminated.size], [0, 0]);
});
