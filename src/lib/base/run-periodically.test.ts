import assert from "node:assert/strict";
import { test } from "node:test";
import { abortError } from "./errors.ts";
import { FakeClock, settle } from "./fake-clock.ts";
import { runPeriodically } from "./run-periodically.ts";

function setUp(work: () => Promise<void> = async () => {}) {
  const clock = new FakeClock(0);
  const stop = new AbortController();
  const at: number[] = [];
  const errors: unknown[] = [];
  const done = runPeriodically(
    async () => {
      at.push(clock.elapsedMs);
      await work();
    },
    { clock, everyMs: 100, signal: stop.signal, onError: (error) => errors.push(error) },
  );
  return { clock, stop, at, errors, done };
}

test("the first run is immediate, the next one period after the end of the last", async () => {
  let end = Promise.withResolvers<void>();
  const { clock, stop, at, done } = setUp(() => end.promise);
  await clock.advance(500);
  assert.deepEqual(at, [0], "a long run is not overlapped by the next");
  end.resolve();
  end = Promise.withResolvers();
  end.resolve();
  await clock.advance(250);
  assert.deepEqual(at, [0, 600, 700]);
  stop.abort();
  await done;
  assert.equal(clock.pending, 0);
});

test("an error in one run is reported, and the next run still happens", async () => {
  const { clock, stop, at, errors, done } = setUp(async () => {
    throw new Error("no");
  });
  await clock.advance(100);
  assert.equal(at.length, 2);
  assert.equal(errors.length, 2);
  stop.abort();
  await done;
});

test("work that ends because of the abort reports no error", async () => {
  const hang = Promise.withResolvers<void>();
  const { stop, errors, done } = setUp(() => hang.promise);
  await settle();
  stop.abort();
  hang.reject(abortError());
  await done;
  assert.deepEqual(errors, []);
});
