import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep } from "./clock.ts";
import { ConcurrencyLimiter, type LimiterOptions, type SlotRequest } from "./concurrency-limiter.ts";
import { isAbort } from "./errors.ts";
import { FakeClock, monotonicTime, settle } from "./fake-clock.ts";

/** Work that lasts until it is released. */
function setUp(width: number, options: LimiterOptions = {}) {
  const limiter = new ConcurrencyLimiter(width, options);
  const running: string[] = [];
  const order: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const run = (name: string, request: SlotRequest = {}) =>
    limiter.run(async () => {
      order.push(name);
      running.push(name);
      const end = Promise.withResolvers<void>();
      ends.set(name, end);
      await end.promise.finally(() => running.splice(running.indexOf(name), 1));
      return name;
    }, request);
  const end = async (name: string) => {
    ends.get(name)?.resolve();
    await settle();
  };
  return { limiter, running, order, run, end, ends };
}

test("no more operations run concurrently than the width of the limiter", async () => {
  const { running, run, end, limiter } = setUp(2);
  const all = ["a", "b", "c"].map((name) => run(name));
  await settle();
  assert.deepEqual(running, ["a", "b"]);
  assert.equal(limiter.waiting, 1);
  await end("a");
  assert.deepEqual(running, ["b", "c"]);
  await end("b");
  await end("c");
  assert.deepEqual(await Promise.all(all), ["a", "b", "c"]);
});

test("the highest priority runs first, then the longest-waiting", async () => {
  const { run, end, order } = setUp(1);
  const all = [
    run("first"),
    run("old"),
    run("low", { priority: -1 }),
    run("critical", { priority: 5 }),
    run("young"),
    run("critical too", { priority: 5 }),
  ];
  for (const name of ["first", "critical", "critical too", "old", "young", "low"]) {
    await settle();
    await end(name);
  }
  await Promise.all(all);
  assert.deepEqual(order, ["first", "critical", "critical too", "old", "young", "low"]);
});

test("an aborted waiter never runs and uses no slot", async () => {
  const { run, end, order, limiter } = setUp(1);
  const first = run("first");
  const stop = new AbortController();
  const aborted = run("aborted", { signal: stop.signal });
  const last = run("last");
  stop.abort();
  await assert.rejects(aborted, isAbort);
  assert.equal(limiter.waiting, 1);
  await settle();
  await end("first");
  await end("last");
  await Promise.all([first, last]);
  assert.deepEqual(order, ["first", "last"]);
});

test("work aborted beforehand does not start, even with a free slot", async () => {
  const { run, order } = setUp(1);
  await assert.rejects(run("late", { signal: AbortSignal.abort() }), isAbort);
  assert.deepEqual(order, []);
});

test("an abort after the start of the work does not change the limiter", async () => {
  const { run, end, running } = setUp(1);
  const stop = new AbortController();
  const first = run("first", { signal: stop.signal });
  const second = run("second");
  await settle();
  stop.abort();
  await settle();
  assert.deepEqual(running, ["first"]);
  await end("first");
  assert.deepEqual(running, ["second"]);
  await end("second");
  await Promise.all([first, second]);
});

test("work that fails frees its slot", async () => {
  const { run, end, ends, running } = setUp(1);
  const first = run("first");
  const second = run("second");
  await settle();
  ends.get("first")?.reject(new Error("broken"));
  await assert.rejects(first, /broken/);
  await settle();
  assert.deepEqual(running, ["second"]);
  await end("second");
  await second;
});

for (const width of [0, -1, Number.NaN])
  test(`a limiter of width ${width} is rejected`, () =>
    assert.throws(() => new ConcurrencyLimiter(width), RangeError));

test("work that hangs passes its slot on, and frees it only once", async () => {
  const clock = new FakeClock();
  const limiter = new ConcurrencyLimiter(1, { clock, maxHoldMs: 10_000 });
  const hang = Promise.withResolvers<void>();
  const order: string[] = [];
  const run = (name: string, until: Promise<void>) =>
    limiter.run(async () => {
      order.push(name);
      await until;
    });
  const hanging = run("hangs", hang.promise);
  const slow = Promise.withResolvers<void>();
  const second = run("second", slow.promise);
  const third = run("third", Promise.resolve());
  await clock.advance(9_999);
  assert.deepEqual(order, ["hangs"]);
  await clock.advance(1);
  assert.deepEqual(order, ["hangs", "second"]);
  hang.resolve();
  await hanging;
  await settle();
  assert.deepEqual(order, ["hangs", "second"], "its slot was already reused");
  slow.resolve();
  await Promise.all([second, third]);
  assert.deepEqual(order, ["hangs", "second", "third"]);
  assert.equal(clock.pending, 0, "no timer is left");
});

const kinds = ["restart", "container", "sandbox"] as const;

const orders: [rule: string, requests: [name: string, request: SlotRequest][], expected: string[]][] = [
  [
    "operations of equal priority run in the order of kinds, so that started pods finish first",
    [
      ["s1", { kind: "sandbox" }],
      ["c1", { kind: "container" }],
      ["s2", { kind: "sandbox" }],
      ["r1", { kind: "restart" }],
      ["c2", { kind: "container" }],
    ],
    ["r1", "c1", "c2", "s1", "s2"],
  ],
  [
    "priority comes before kind",
    [
      ["restart", { kind: "restart" }],
      ["critical", { kind: "sandbox", priority: 1 }],
    ],
    ["critical", "restart"],
  ],
  [
    "of one kind the oldest runs first, in any order of arrival",
    [
      ["young", { kind: "sandbox", since: monotonicTime(300) }],
      ["old", { kind: "sandbox", since: monotonicTime(100) }],
      ["middle", { kind: "sandbox", since: monotonicTime(200) }],
    ],
    ["old", "middle", "young"],
  ],
  [
    "of the same age the first to arrive runs first",
    [
      ["a", { since: monotonicTime(100) }],
      ["b", { since: monotonicTime(100) }],
    ],
    ["a", "b"],
  ],
  [
    "an operation without a kind, or with an unlisted one, comes last",
    [
      ["none", {}],
      ["other", { kind: "other" }],
      ["sandbox", { kind: "sandbox" }],
    ],
    ["sandbox", "none", "other"],
  ],
];
for (const [rule, requests, expected] of orders)
  test(`order: ${rule}`, async () => {
    const { run, end, order } = setUp(1, { kinds });
    const all = [run("first"), ...requests.map(([name, request]) => run(name, request))];
    for (const name of ["first", ...expected]) {
      await settle();
      await end(name);
    }
    await Promise.all(all);
    assert.deepEqual(order, ["first", ...expected]);
  });

test("the reserved slot is for its kind only, one at a time, beyond the width", async () => {
  const { run, end, running, limiter } = setUp(1, { kinds, reserved: ["restart"] });
  const all = [
    run("s1", { kind: "sandbox", priority: 9 }),
    run("s2", { kind: "sandbox", priority: 9 }),
    run("r1", { kind: "restart" }),
    run("r2", { kind: "restart" }),
  ];
  await settle();
  assert.deepEqual(running, ["s1", "r1"], "a restart gets the reserved slot regardless of priorities");
  assert.deepEqual([limiter.running, limiter.waiting], [2, 2]);
  await end("r1");
  assert.deepEqual(running, ["s1", "r2"]);
  await end("r2");
  assert.deepEqual(running, ["s1"], "a sandbox does not use it");
  await end("s1");
  assert.deepEqual(running, ["s2"]);
  await end("s2");
  await Promise.all(all);
  assert.deepEqual([limiter.running, limiter.waiting], [0, 0]);
});

test("a reserved kind uses a shared slot while one is free", async () => {
  const { run, end, running, order } = setUp(1, { kinds, reserved: ["restart"] });
  const all = [run("r1", { kind: "restart" }), run("r2", { kind: "restart" }), run("s", { kind: "sandbox" })];
  await settle();
  assert.deepEqual(running, ["r1", "r2"]);
  await end("r1");
  assert.deepEqual(running, ["r2", "s"]);
  await end("r2");
  await end("s");
  await Promise.all(all);
  assert.deepEqual(order, ["r1", "r2", "s"]);
});

test("a restart during a burst of 60 waits for one slot at most, even when others restart", async () => {
  const clock = new FakeClock();
  const waits: { kind: string | undefined; waitMs: number }[] = [];
  const limiter = new ConcurrencyLimiter(4, {
    clock,
    kinds,
    reserved: ["restart"],
    onAdmitted: (waitMs, kind) => waits.push({ kind, waitMs }),
  });
  const workMs = 300;
  const work = () => new Promise<void>((resolve) => clock.after(workMs, resolve));
  const pods = Array.from({ length: 60 }, async () => {
    await limiter.run(work, { kind: "sandbox" });
    await limiter.run(work, { kind: "container" });
  });
  await clock.advance(workMs / 2);
  const restarts = [1, 2, 3, 4, 5].map(() => limiter.run(work, { kind: "restart" }));
  await clock.advance(60_000);
  await Promise.all([...pods, ...restarts]);
  const waited = waits.filter((w) => w.kind === "restart").map((w) => w.waitMs);
  assert.equal(waited.length, 5);
  assert.equal(waited[0], 0, "the reserved slot was free");
  assert.ok(Math.max(...waited) <= workMs, `${waited}`);
  assert.equal(waits.length, 125);
});

test("in a burst half of the pods run after half of the time, because started pods are finished first", async () => {
  const clock = new FakeClock();
  const began = clock.elapsedMs;
  const limiter = new ConcurrencyLimiter(4, { clock, kinds });
  const work = () => new Promise<void>((resolve) => clock.after(100, resolve));
  const runsAfter: number[] = [];
  const pods = Array.from({ length: 40 }, async () => {
    await limiter.run(work, { kind: "sandbox" });
    await limiter.run(work, { kind: "container" });
    runsAfter.push(clock.elapsedMs - began);
  });
  await clock.advance(60_000);
  await Promise.all(pods);
  assert.equal(runsAfter.at(-1), 2000);
  assert.ok(runsAfter[19]! <= 1100, `${runsAfter}`);
});

test("waits and counts are reported, including aborted callers", async () => {
  const clock = new FakeClock();
  const waits: [number, string | undefined][] = [];
  const counts: string[] = [];
  const limiter = new ConcurrencyLimiter(1, {
    clock,
    onAdmitted: (waitMs, kind) => waits.push([waitMs, kind]),
    onChange: ({ waiting, running }) => counts.push(`${waiting}/${running}`),
  });
  const stop = new AbortController();
  const first = limiter.run(() => new Promise<void>((resolve) => clock.after(500, resolve)), {
    kind: "sandbox",
  });
  const second = limiter.run(async () => {}, { kind: "container" });
  const aborted = limiter.run(async () => {}, { kind: "restart", signal: stop.signal });
  stop.abort();
  await assert.rejects(aborted, isAbort);
  await clock.advance(500);
  await Promise.all([first, second]);
  assert.deepEqual(waits, [
    [0, "sandbox"],
    [500, "container"],
  ]);
  assert.deepEqual(counts, ["0/1", "1/1", "2/1", "1/1", "0/1", "0/0"]);
});

test("a restart that hangs frees the reserved slot for the next restart", async () => {
  const clock = new FakeClock();
  const limiter = new ConcurrencyLimiter(1, { clock, maxHoldMs: 1000, kinds, reserved: ["restart"] });
  const hang = Promise.withResolvers<void>();
  const order: string[] = [];
  const run = (name: string, kind: (typeof kinds)[number]) =>
    limiter.run(
      async () => {
        order.push(name);
        await hang.promise;
      },
      { kind },
    );
  const all = [run("s1", "sandbox"), run("r1", "restart"), run("r2", "restart"), run("r3", "restart")];
  await clock.advance(999);
  assert.deepEqual(order, ["s1", "r1"]);
  await clock.advance(1);
  assert.deepEqual(order, ["s1", "r1", "r2", "r3"]);
  hang.resolve();
  await Promise.all(all);
  assert.equal(limiter.running, 0);
});

test("work that hangs passes its slot on early where work is usually short, and late where it is long", async () => {
  for (const [usualMs, expectedMs] of [
    [0, 1000],
    [100, 1000],
    [500, 4000],
    [5000, 10_000],
  ] as const) {
    const clock = new FakeClock();
    const limiter = new ConcurrencyLimiter(1, { clock, minHoldMs: 1000, maxHoldMs: 10_000 });
    const usual = usualMs === 0 ? undefined : limiter.run(() => sleep(clock, usualMs));
    await clock.advance(usualMs);
    await usual;
    const hang = Promise.withResolvers<void>();
    const hanging = limiter.run(() => hang.promise);
    let passed = false;
    const next = limiter.run(async () => {
      passed = true;
    });
    await clock.advance(expectedMs - 1);
    assert.equal(passed, false, `after ${expectedMs - 1} ms, usually ${usualMs} ms`);
    await clock.advance(1);
    assert.equal(passed, true, `after ${expectedMs} ms, usually ${usualMs} ms`);
    hang.resolve();
    await Promise.all([hanging, next]);
  }
});

test("an owner whose work hung and failed needs no slot, until its work ends in time", async () => {
  const clock = new FakeClock();
  const limiter = new ConcurrencyLimiter(1, { clock, maxHoldMs: 1000 });
  const fails = async (ms: number) => {
    await sleep(clock, ms);
    throw new Error("failed");
  };
  const failing = (ms: number) =>
    assert.rejects(
      limiter.run(() => fails(ms), { owner: "a" }),
      /failed/,
    );
  const first = failing(1500);
  await clock.advance(1500);
  await first;
  assert.equal(limiter.blockedOwners, 1);
  const again = failing(500);
  assert.equal(limiter.running, 0, "it has a slot");
  await clock.advance(500);
  await again;
  assert.equal(limiter.blockedOwners, 0);

  const slow = limiter.run(() => sleep(clock, 1500), { owner: "a" });
  assert.equal(limiter.running, 1);
  await clock.advance(1500);
  await slow;
  assert.equal(limiter.blockedOwners, 0, "slow is not blocked");

  const hung = failing(2000);
  await clock.advance(2000);
  await hung;
  limiter.forget("a");
  assert.equal(limiter.blockedOwners, 0);
});

test("an owner runs from when its work has a slot until the work ends, even if the slot was passed on", async () => {
  const clock = new FakeClock();
  const { limiter, run, end } = setUp(1, { clock, maxHoldMs: 100 });
  const all = [run("a", { owner: "x" }), run("b", { owner: "y" })];
  await settle();
  assert.deepEqual([limiter.isRunning("x"), limiter.isRunning("y")], [true, false]);
  await clock.advance(100);
  assert.deepEqual([limiter.isRunning("x"), limiter.isRunning("y")], [true, true]);
  await end("a");
  assert.deepEqual([limiter.isRunning("x"), limiter.isRunning("y")], [false, true]);
  await end("b");
  await Promise.all(all);
  assert.equal(limiter.isRunning("y"), false);
});

test("a width that grows admits more at once, one that shrinks lets work finish first", async () => {
  const width = { width: 1 };
  const full: boolean[] = [];
  const limiter = new ConcurrencyLimiter(width, { measure: () => (isFull) => void full.push(isFull) });
  const ends = Array.from({ length: 6 }, () => Promise.withResolvers<void>());
  const started: number[] = [];
  const all = ends.map(({ promise }, i) =>
    limiter.run(() => {
      started.push(i);
      return promise;
    }),
  );
  const after = async (i: number, next: number) => {
    width.width = next;
    ends[i]!.resolve();
    await all[i];
    await Promise.resolve();
    return [...started];
  };
  assert.deepEqual(await after(0, 3), [0, 1, 2, 3]);
  assert.equal(limiter.running, 3);
  assert.deepEqual(await after(1, 1), [0, 1, 2, 3]);
  assert.deepEqual(await after(2, 1), [0, 1, 2, 3]);
  assert.deepEqual(await after(3, 1), [0, 1, 2, 3, 4]);
  for (const i of [4, 5]) await after(i, 1);
  assert.deepEqual(full, [true, true, true, true, true, false]);
  assert.equal(limiter.running, 0);
});
