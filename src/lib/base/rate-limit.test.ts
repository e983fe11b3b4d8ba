import assert from "node:assert/strict";
import { test } from "node:test";
import { isAbort } from "./errors.ts";
import { FakeClock } from "./fake-clock.ts";
import { RateLimit } from "./rate-limit.ts";

/** Requests `count` tokens concurrently, and records when each is granted. */
function setUp(perSecond: number, burst: number) {
  const clock = new FakeClock(0);
  const limit = new RateLimit(perSecond, burst, clock);
  const grantedAt: number[] = [];
  const acquire = async (count: number, signal?: AbortSignal) => {
    for (let i = 0; i < count; i++)
      limit.take(signal).then(
        () => grantedAt.push(clock.elapsedMs),
        () => grantedAt.push(-1),
      );
    await clock.advance(0);
  };
  return { clock, limit, grantedAt, acquire };
}

test("a burst passes immediately, the rest at the rate, in order", async () => {
  const { clock, grantedAt, acquire } = setUp(2, 3);
  await acquire(6);
  assert.deepEqual(grantedAt, [0, 0, 0]);
  await clock.advance(10_000);
  assert.deepEqual(grantedAt, [0, 0, 0, 500, 1000, 1500]);
});

test("unused tokens accumulate, up to the burst", async () => {
  const { clock, grantedAt, acquire } = setUp(1, 2);
  await acquire(2);
  await clock.advance(60_000);
  await acquire(3);
  await clock.advance(60_000);
  assert.deepEqual(grantedAt, [0, 0, 60_000, 60_000, 61_000]);
});

test("a rate of zero means no limit", async () => {
  const { grantedAt, acquire } = setUp(0, 1);
  await acquire(50);
  assert.equal(grantedAt.length, 50);
});

test("a burst of zero still allows one at a time", async () => {
  const { clock, grantedAt, acquire } = setUp(1, 0);
  await acquire(2);
  await clock.advance(1000);
  assert.deepEqual(grantedAt, [0, 1000]);
});

test("an aborted wait uses no token", async () => {
  const { clock, grantedAt, limit, acquire } = setUp(1, 1);
  await acquire(1);
  const stop = new AbortController();
  const aborted = limit.take(stop.signal);
  stop.abort();
  await assert.rejects(aborted, isAbort);
  await acquire(1);
  await clock.advance(1000);
  assert.deepEqual(grantedAt, [0, 1000]);
});

test("a clock that is set back costs no token", async () => {
  const clock = new FakeClock();
  const limit = new RateLimit(10, 2, clock);
  clock.jump(-3_600_000);
  assert.ok(limit.tryTake());
  await limit.take();
  assert.equal(limit.tryTake(), false);
  await clock.advance(100);
  assert.ok(limit.tryTake());
});
