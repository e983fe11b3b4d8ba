import assert from "node:assert/strict";
import { test } from "node:test";
import { isAbort } from "./errors.ts";
import { FakeClock, settle } from "./fake-clock.ts";
import { ConcurrencyGate } from "./gate.ts";

/** Work that lasts until it is told to end. */
function setUp(width: number) {
  const gate = new ConcurrencyGate(width);
  const running: string[] = [];
  const order: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const run = (name: string, options: { priority?: number; signal?: AbortSignal } = {}) =>
    gate.run(async () => {
      order.push(name);
      running.push(name);
      const end = Promise.withResolvers<void>();
      ends.set(name, end);
      await end.promise.finally(() => running.splice(running.indexOf(name), 1));
      return name;
    }, options);
  const end = async (name: string) => {
    ends.get(name)?.resolve();
    await settle();
  };
  return { gate, running, order, run, end, ends };
}

test("no more work runs at once than the gate is wide", async () => {
  const { running, run, end, gate } = setUp(2);
  const all = ["a", "b", "c"].map((name) => run(name));
  await settle();
  assert.deepEqual(running, ["a", "b"]);
  assert.equal(gate.waiting, 1);
  await end("a");
  assert.deepEqual(running, ["b", "c"]);
  await end("b");
  await end("c");
  assert.deepEqual(await Promise.all(all), ["a", "b", "c"]);
});

test("the most important goes first, then the one that waits longest", async () => {
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

test("who gives up while waiting never runs and takes nobody's place", async () => {
  const { run, end, order, gate } = setUp(1);
  const first = run("first");
  const stop = new AbortController();
  const given = run("given up", { signal: stop.signal });
  const last = run("last");
  stop.abort();
  await assert.rejects(given, isAbort);
  assert.equal(gate.waiting, 1);
  await settle();
  await end("first");
  await end("last");
  await Promise.all([first, last]);
  assert.deepEqual(order, ["first", "last"]);
});

test("who has given up before does not begin, though there is room", async () => {
  const { run, order } = setUp(1);
  await assert.rejects(run("late", { signal: AbortSignal.abort() }), isAbort);
  assert.deepEqual(order, []);
});

test("to give up after the work began changes nothing at the gate", async () => {
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

test("work that fails leaves its place to the next", async () => {
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
  test(`a gate of width ${width} is refused`, () =>
    assert.throws(() => new ConcurrencyGate(width), RangeError));

test("work that hangs gives its place to the next, and leaves only once", async () => {
  const clock = new FakeClock();
  const gate = new ConcurrencyGate(1, { clock, longestMs: 10_000 });
  const hang = Promise.withResolvers<void>();
  const order: string[] = [];
  const run = (name: string, until: Promise<void>) =>
    gate.run(async () => {
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
  assert.deepEqual(order, ["hangs", "second"], "its place was given away already");
  slow.resolve();
  await Promise.all([second, third]);
  assert.deepEqual(order, ["hangs", "second", "third"]);
  assert.equal(clock.pending, 0, "no timer is left");
});
