import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { WakeTimer } from "./wake-timer.ts";

test("a wait that has ended leaves no listener at the signal", async () => {
  const clock = new FakeClock();
  const timer = new WakeTimer(clock);
  const { signal } = new AbortController();
  for (let i = 0; i < 3; i++) {
    timer.request(1000);
    const waiting = timer.wait(signal);
    await clock.advance(1000);
    await waiting;
  }
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("the earliest request wakes the loop, a later one does not delay it", async () => {
  const clock = new FakeClock();
  const timer = new WakeTimer(clock);
  timer.request(1000);
  timer.request(5000);
  let isAwake = false;
  void timer.wait(new AbortController().signal).then(() => {
    isAwake = true;
  });
  await clock.advance(999);
  assert.equal(isAwake, false);
  await clock.advance(1);
  assert.equal(isAwake, true);
});

test("a timer that fired before the wait ends it at once, and so does an aborted signal", async () => {
  const clock = new FakeClock();
  const timer = new WakeTimer(clock);
  const stop = new AbortController();
  timer.request(0);
  await clock.advance(0);
  await timer.wait(stop.signal);
  const waiting = timer.wait(stop.signal);
  stop.abort();
  await waiting;
  await timer.wait(stop.signal);
});
