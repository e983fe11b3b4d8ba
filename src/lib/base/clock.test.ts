import assert from "node:assert/strict";
import { test } from "node:test";
import { monotonicOf, msSince, sleep, systemClock } from "./clock.ts";
import { isAbort } from "./errors.ts";
import { FakeClock } from "./fake-clock.ts";
import { epochMs, plusMs } from "./time.ts";

test("sleep lasts as long as requested", async () => {
  const clock = new FakeClock(0);
  let woke = false;
  const slept = sleep(clock, 100).then(() => {
    woke = true;
  });
  await clock.advance(99);
  assert.equal(woke, false);
  await clock.advance(1);
  assert.equal(woke, true);
  await slept;
});

test("an aborted sleep ends immediately and leaves no timer", async () => {
  const clock = new FakeClock(0);
  const stop = new AbortController();
  const slept = sleep(clock, 100, stop.signal);
  stop.abort("enough");
  await assert.rejects(slept, (error: Error) => isAbort(error) && error.cause === "enough");
  assert.equal(clock.pending, 0);
  await assert.rejects(sleep(clock, 100, stop.signal), isAbort);
  assert.equal(clock.pending, 0);
});

test("timers of the fake clock fire in order of time, then of creation, including those that timers set", async () => {
  const clock = new FakeClock(0);
  const fired: string[] = [];
  clock.after(20, () => fired.push(`late ${clock.elapsedMs}`));
  clock.after(10, () => {
    fired.push(`early ${clock.elapsedMs}`);
    clock.after(5, () => fired.push(`set on the way ${clock.elapsedMs}`));
  });
  clock.after(10, () => fired.push(`second ${clock.elapsedMs}`));
  clock.after(10, () => fired.push("canceled"))();
  await clock.advance(30);
  assert.deepEqual(fired, ["early 10", "second 10", "set on the way 15", "late 20"]);
  assert.equal(clock.elapsedMs, 30);
});

test("the system's clock waits and can be stopped", async () => {
  const before = systemClock.monotonic();
  const stopped = systemClock.after(0, () => assert.fail("was canceled"));
  stopped();
  await sleep(systemClock, 5);
  assert.ok(msSince(systemClock, before) >= 4);
});

test("a wait that is already due ends immediately, without a process warning", async () => {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error) => void warnings.push(name);
  process.on("warning", onWarning);
  await sleep(systemClock, -5000);
  // Warnings are emitted in a turn of their own.
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", onWarning);
  assert.deepEqual(warnings, []);
});

test("setting the wall clock or a suspend moves neither monotonic time nor timers", async () => {
  const clock = new FakeClock(0);
  const begun = clock.monotonic();
  const fired: number[] = [];
  clock.after(100, () => fired.push(clock.elapsedMs));
  clock.jump(-3_600_000);
  assert.equal(epochMs(clock.wall()), -3_600_000);
  await clock.advance(60);
  clock.suspend(86_400_000);
  assert.equal(epochMs(clock.wall()), 86_400_000 - 3_600_000 + 60);
  assert.equal(msSince(clock, begun), 60);
  await clock.advance(40);
  assert.deepEqual(fired, [100]);
});

test("an external timestamp is as old as the wall clock shows, and never in the future", async () => {
  const clock = new FakeClock();
  const now = clock.monotonic();
  assert.equal(monotonicOf(clock, plusMs(clock.wall(), -5000)), plusMs(now, -5000));
  assert.equal(monotonicOf(clock, plusMs(clock.wall(), 5000)), now);
});

test("a wait longer than the maximum of a Node.js timer does not end early", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const most = 0x7fffffff;
  let fired = 0;
  systemClock.after(2 * most + 1000, () => fired++);
  const stop = systemClock.after(2 * most + 1000, () => assert.fail("was canceled"));
  for (const ms of [most, most, 999]) t.mock.timers.tick(ms);
  assert.equal(fired, 0);
  stop();
  t.mock.timers.tick(1);
  assert.equal(fired, 1);
});

test("the system's monotonic clock is the one that its timers follow", async () => {
  const begun = systemClock.monotonic();
  await sleep(systemClock, 20);
  // The timers of Node.js count whole milliseconds and may fire up to 1 ms early.
  assert.ok(msSince(systemClock, begun) >= 19);
});
