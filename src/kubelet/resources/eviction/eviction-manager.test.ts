import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../../test/builders/pods.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { type Logger, silentLogger } from "../../../lib/base/logger.ts";
import type { PodSpec, PodUid } from "../../../lib/model/pod.ts";
import type { EvictionManagerOptions } from "./eviction-manager.ts";
import { type FakePod, FakePressureNode, type FakePressureNodeOptions } from "./fake-pressure-node.ts";
import { type ThresholdSettings, thresholdsOf } from "./thresholds.ts";

const capacity = { memory: 1000, disk: 1000, pids: 1000 };

function podOf(
  name: string,
  usage: ReturnType<FakePod["usage"]>,
  spec: Partial<PodSpec> = {},
  terminatesMs = 0,
): FakePod {
  const pod = aPod(
    { containers: [{ name: "c", image: "i" }], ...spec },
    { name, uid: name as PodUid, annotations: {} },
  );
  return { pod, usage: () => usage, terminatesMs };
}

async function start(
  pods: readonly FakePod[],
  settings: Partial<ThresholdSettings>,
  more: Partial<Omit<FakePressureNodeOptions, "manager">> & {
    manager?: Partial<EvictionManagerOptions>;
  } = {},
) {
  const clock = new FakeClock();
  const thresholds = thresholdsOf({
    evictionHard: {},
    evictionSoft: {},
    evictionSoftGracePeriod: {},
    evictionMinimumReclaim: {},
    enforcesAllocatable: false,
    ...settings,
  });
  const node = new FakePressureNode({
    clock,
    logger: silentLogger,
    pods,
    capacity,
    ...more,
    manager: { thresholds, transitionMs: 300_000, ...more.manager },
  });
  await node.startAgent();
  const names = () => node.evictions.map(({ name }) => name);
  return { clock, node, names };
}

const hard = { evictionHard: { "memory.available": "100" } };

test("nothing is evicted while nothing is low", async () => {
  const { clock, node } = await start([podOf("a", { memory: 900 })], hard);
  await clock.advance(60_000);
  assert.deepEqual([node.evictions, node.events], [[], []]);
});

// parity: field evictionHard, event EvictionThresholdMet, event Evicted
test("the node gets its condition, one pod is evicted, and the next only after a new measurement", async () => {
  const pods = [
    podOf("small", { memory: 100 }),
    podOf("big", { memory: 450 }, {}, 5000),
    podOf("huge", { memory: 800 }, { priority: 100 }, 5000),
  ];
  const { clock, node, names } = await start(pods, hard);
  await clock.advance(100);
  assert.deepEqual(names(), ["big"]);
  assert.deepEqual(node.events, [
    "conditions MemoryPressure",
    "node EvictionThresholdMet: Attempting to reclaim memory",
    "metric memory.available",
    "big Evicted",
  ]);
  await clock.advance(4000);
  assert.deepEqual(names(), ["big"], "it has not terminated yet");
  await clock.advance(60_000);
  assert.deepEqual(names(), ["big"], "that was enough");
  assert.deepEqual(node.reclaimed, ["evicted containers"], "before the next measurement");
  assert.deepEqual(node.violations, []);
});

test("the message of a hard threshold has what was left, and one second of grace", async () => {
  const { clock, node } = await start(
    [podOf("hog", { memory: 950 }, { terminationGracePeriodSeconds: 600 })],
    hard,
  );
  await clock.advance(100);
  assert.deepEqual(node.evictions, [
    {
      name: "hog",
      at: 0,
      message: "The node was low on resource: memory. Threshold quantity: 100, available: 50. ",
      grace: 1,
    },
  ]);
});

// parity: field evictionSoft, field evictionSoftGracePeriod, field evictionMaxPodGracePeriod as maxPodGraceSeconds
for (const [maxPodGraceSeconds, own, grace] of [
  [30, 10, 10],
  [30, 600, 30],
  [0, 10, 0],
] as const)
  test(`a soft threshold evicts after its grace period, with ${grace} s for a pod that has ${own} s and a maximum of ${maxPodGraceSeconds} s`, async () => {
    const spec = { terminationGracePeriodSeconds: own };
    const { clock, node } = await start(
      [podOf("hog", { memory: 950 }, spec)],
      { evictionSoft: { "memory.available": "100" }, evictionSoftGracePeriod: { "memory.available": "45s" } },
      { manager: { maxPodGraceSeconds } },
    );
    await clock.advance(44_000);
    assert.deepEqual([node.evictions, node.pressure.conditions], [[], ["MemoryPressure"]]);
    await clock.advance(10_000);
    assert.deepEqual(
      node.evictions.map((e) => [e.name, e.grace]),
      [["hog", grace]],
    );
  });

// parity: field evictionPressureTransitionPeriod as transitionMs
test("dead containers and unused images are removed first, and may be enough", async () => {
  const { clock, node } = await start(
    [podOf("filler", { disk: 500 })],
    { evictionHard: { "nodefs.available": "20%" } },
    { garbage: { containers: 100, images: 300 } },
  );
  await clock.advance(60_000);
  assert.deepEqual(node.reclaimed, ["dead containers", "unused images"]);
  assert.deepEqual(node.evictions, []);
  assert.deepEqual(node.pressure.conditions, ["DiskPressure"], "until the transition period is over");
  await clock.advance(300_000);
  assert.deepEqual(node.pressure.conditions, []);
  assert.deepEqual(node.events, [
    "conditions DiskPressure",
    "node EvictionThresholdMet: Attempting to reclaim ephemeral-storage",
    "conditions ",
  ]);
});

// parity: field evictionMinimumReclaim
test("what is reclaimed has to be the minimum reclaim, too", async () => {
  const { clock, node, names } = await start(
    [podOf("filler", { disk: 500 })],
    { evictionHard: { "nodefs.available": "20%" }, evictionMinimumReclaim: { "nodefs.available": "40%" } },
    { garbage: { containers: 100, images: 300 } },
  );
  await clock.advance(100);
  assert.deepEqual(names(), ["filler"]);
  assert.deepEqual(node.violations, []);
});

test("critical and static pods are never evicted, even if nothing else is left", async () => {
  const pods = [
    podOf("critical", { memory: 500 }, { priority: 2_000_000_000 }),
    podOf("victim", { memory: 10 }, { priority: 1000 }),
  ];
  const [critical] = pods;
  const isStatic = { "kubernetes.io/config.source": "file" };
  pods.push({
    ...critical!,
    pod: aPod({}, { name: "static", uid: "static" as PodUid, annotations: isStatic }),
  });
  const { clock, node, names } = await start(pods, hard);
  await clock.advance(120_000);
  assert.deepEqual(names(), ["victim"]);
  assert.deepEqual(node.pressure.conditions, ["MemoryPressure"]);
});

// parity: event ExceededGracePeriod
test("a pod that does not terminate is reported, and no other is evicted in its place", async () => {
  const pods = [podOf("stuck", { memory: 950 }, {}, 100_000), podOf("other", { memory: 10 })];
  const { clock, node, names } = await start(pods, hard);
  await clock.advance(95_000);
  assert.deepEqual(names(), ["stuck"]);
  assert.deepEqual(
    node.events.filter((e) => e.startsWith("stuck")),
    ["stuck Evicted", "stuck ExceededGracePeriod"],
  );
});

test("an agent that is killed during an eviction evicts no other pod in place of the first", async () => {
  const pods = [podOf("hog", { memory: 950 }, {}, 20_000), podOf("other", { memory: 900 })];
  const { clock, node, names } = await start(pods, { evictionHard: { "memory.available": "50" } });
  await clock.advance(1000);
  assert.deepEqual(names(), ["hog"]);
  node.killAgent();
  await clock.advance(1000);
  await node.startAgent();
  await clock.advance(60_000);
  assert.deepEqual(names(), ["hog"]);
  assert.deepEqual(node.violations, []);
});

test("all pods over their limits of local ephemeral storage are evicted together, without pressure", async () => {
  const limits = (limit: string) => ({
    containers: [{ name: "c", image: "i", resources: { limits: { "ephemeral-storage": limit } } }],
  });
  const pods = [
    podOf("within", { disk: 100 }, limits("100")),
    podOf("over", { disk: 101 }, limits("100"), 3000),
    podOf("also", { disk: 50 }, limits("10")),
  ];
  const { clock, node, names } = await start(pods, {}, { manager: { localStorage: true } });
  await clock.advance(2000);
  assert.deepEqual(names(), ["over", "also"]);
  assert.match(node.evictions[0]?.message ?? "", /exceeds the total limit of containers 100\. $/);
  assert.deepEqual(node.pressure.conditions, []);
  assert.deepEqual(node.violations, []);
});

test("a notification of the kernel starts a measurement before the next is due", async () => {
  let notify = () => {};
  let memory = 500;
  let thresholds: unknown;
  const pod = { ...podOf("hog", {}), usage: () => ({ memory }) };
  const notifier = {
    set: async (set: unknown, callback: () => void) => {
      thresholds = set;
      notify = callback;
    },
    close: () => {},
  };
  const { clock, names } = await start([pod], hard, { manager: { notifier } });
  await clock.advance(1000);
  assert.deepEqual(thresholds, [{ cgroup: "machine", usageBytes: 900 }]);
  memory = 950;
  await clock.advance(1000);
  assert.deepEqual(names(), []);
  notify();
  await clock.advance(1);
  assert.deepEqual(names(), ["hog"]);
});

test("while the runtime does not respond, memory is protected, and disks are later", async () => {
  let isAway = true;
  const layout = async () => {
    if (isAway) throw new Error("unavailable");
    return { dedicatedImageFs: false, splitContainerFs: false };
  };
  const pods = [podOf("hog", { memory: 950, disk: 10 }), podOf("filler", { disk: 950 })];
  const evictionHard = { "memory.available": "100", "nodefs.available": "100" };
  const { clock, names } = await start(pods, { evictionHard }, { layout });
  await clock.advance(30_000);
  assert.deepEqual(names(), ["hog"]);
  isAway = false;
  await clock.advance(30_000);
  assert.deepEqual(names(), ["hog", "filler"]);
});

test("a repeated disk error is logged once at -v 2", async () => {
  const lines: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    debug: (level, message, fields) => {
      if (level <= 2) lines.push(`${message}: ${fields?.err}`);
    },
  };
  const layout = async () => {
    throw new Error("imagefs device is not found");
  };
  const { clock } = await start([], hard, { layout, logger });
  await clock.advance(60_000);
  assert.deepEqual(lines, [
    "Eviction manager: failed to get HasDedicatedImageFs: imagefs device is not found",
  ]);
});

test("the report has each threshold with what is left, the conditions and the last eviction", async () => {
  const { clock, node } = await start([podOf("hog", { memory: 950 })], {
    evictionHard: { "memory.available": "100", "pid.available": "10%" },
  });
  await clock.advance(15_000);
  const { thresholds, conditions, lastEviction, cause } = node.manager.report();
  assert.deepEqual(thresholds, [
    {
      signal: "memory.available",
      kind: "hard",
      value: "100",
      threshold: "100",
      available: "1000",
      capacity: "1000",
      met: false,
    },
    {
      signal: "pid.available",
      kind: "hard",
      value: "10%",
      threshold: "100",
      available: "1000",
      capacity: "1000",
      met: false,
    },
  ]);
  assert.deepEqual(conditions, [{ type: "MemoryPressure", endsInSeconds: 285 }]);
  assert.equal(cause, "memory.available is 50, below the hard threshold of 100");
  assert.equal(lastEviction?.pod, "default/hog");
  assert.match(
    lastEviction?.why ?? "",
    /^memory.available is 50, .*; chosen from 1 pod: it uses 950 of memory, /,
  );
});

// parity: gate KubeletSeparateDiskGC=true, gate KubeletSeparateDiskGC=false
for (const splitFileSystems of [true, false])
  test(`on a split image file system ${splitFileSystems ? "pods" : "without KubeletSeparateDiskGC no pods"} are evicted`, async () => {
    const errors: unknown[] = [];
    const logger: Logger = { ...silentLogger, error: (_message, fields) => errors.push(fields?.err) };
    const layout = async () => ({ dedicatedImageFs: true, splitContainerFs: true });
    const pods = [podOf("hog", { memory: 950 })];
    const { clock, names } = await start(pods, hard, { layout, logger, manager: { splitFileSystems } });
    await clock.advance(60_000);
    assert.deepEqual(names(), splitFileSystems ? ["hog"] : []);
    const problem = "KubeletSeparateDiskGC is turned off but we still have a split filesystem";
    assert.deepEqual(errors, splitFileSystems ? [] : [problem]);
  });
