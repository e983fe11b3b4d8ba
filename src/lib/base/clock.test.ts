import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep, systemClock } from "./clock.ts";
import { isAbort } from "./errors.ts";
import { FakeClock } from "./fake-clock.ts";

test("sleep lasts as long as it was told", async () => {
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

test("an aborted sleep ends at once and leaves no timer", async () => {
  const clock = new FakeClock(0);
  const stop = new AbortController();
  const slept = sleep(clock, 100, stop.signal);
  stop.abort("enough");
  await assert.rejects(slept, (error: Error) => isAbort(error) && error.cause === "enough");
  assert.equal(clock.pending, 0);
  await assert.rejects(sleep(clock, 100, stop.signal), isAbort);
  assert.equal(clock.pending, 0);
});

test("timers of the fake clock fire in order of time, then of age, also those set by others on the way", async () => {
  const clock = new FakeClock(0);
  const fired: string[] = [];
  clock.after(20, () => fired.push(`late ${clock.now()}`));
  clock.after(10, () => {
    fired.push(`early ${clock.now()}`);
    clock.after(5, () => fired.push(`set on the way ${clock.now()}`));
  });
  clock.after(10, () => fired.push(`second ${clock.now()}`));
  clock.after(10, () => fired.push("cancelled"))();
  await clock.advance(30);
  assert.deepEqual(fired, ["early 10", "second 10", "set on the way 15", "late 20"]);
  assert.equal(clock.now(), 30);
});

test("the system's clock waits and can be stopped", async () => {
  const before = systemClock.now();
  const stopped = systemClock.after(0, () => assert.fail("was cancelled"));
  stopped();
  await sleep(systemClock, 5);
  assert.ok(systemClock.now() - before >= 4);
});

test("a wait that is already over ends at once, without a warning of the process", async () => {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error) => void warnings.push(name);
  process.on("warning", onWarning);
  await sleep(systemClock, -5000);
  // Warnings are emitted in a turn of their own.
  await new Promise((resolve) => setImmediate(resolve));
  process.off("warning", onWarning);
  assert.deepEqual(warnings, []);
});
