import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "./node-packages.mjs";
import { slowest, slowestFirst } from "./test-order.mjs";
import { freeShare, mayStart, poolLimits, processorTimes, runPool } from "./test-pool.mjs";

for (const [cores, expected] of [
  [1, { min: 2, max: 8 }],
  [2, { min: 2, max: 8 }],
  [4, { min: 4, max: 16 }],
  [64, { min: 8, max: 32 }],
])
  test(`with ${cores} processors, ${expected.min} to ${expected.max} files run at a time`, () => {
    assert.deepEqual(poolLimits(cores), expected);
  });

for (const [running, free, expected] of [
  [0, 0, true],
  [1, 0, true],
  [2, 0, false],
  [2, 0.14, false],
  [2, 0.15, true],
  [5, 1, true],
  [6, 1, false],
])
  test(`with ${running} running and ${free} of the processors free, one more is ${expected ? "" : "not "}started`, () => {
    assert.equal(mayStart(running, { min: 2, max: 6 }, free), expected);
  });

/** A pool whose jobs end and whose measurements happen when the test triggers them. */
function pool(count, after = {}) {
  const begun = [];
  const ends = new Map();
  let measure;
  let stopped = false;
  let share = 0;
  const done = runPool(
    Array.from({ length: count }, (_, number) => ({ number, after: after[number] })),
    ({ number }) => {
      begun.push(number);
      const { promise, resolve, reject } = Promise.withResolvers();
      ends.set(number, { resolve, reject });
      return promise;
    },
    {
      limits: { min: 2, max: 4 },
      free: () => share,
      tick: (work) => {
        measure = work;
        return () => {
          stopped = true;
        };
      },
    },
  );
  return {
    begun,
    done,
    isStopped: () => stopped,
    measure: (free) => {
      share = free;
      measure();
    },
    end: async (job) => {
      ends.get(job).resolve();
      await new Promise((resolve) => setImmediate(resolve));
    },
    fail: (job, error) => ends.get(job).reject(error),
  };
}

test("on busy processors the minimum number of jobs run; the next starts when one finishes", async () => {
  const { begun, measure, end, done, isStopped } = pool(4);
  assert.deepEqual(begun, [0, 1]);
  measure(0.1);
  assert.deepEqual(begun, [0, 1]);
  await end(1);
  assert.deepEqual(begun, [0, 1, 2]);
  await end(0);
  await end(2);
  assert.deepEqual(begun, [0, 1, 2, 3]);
  assert.equal(isStopped(), false);
  await end(3);
  await done;
  assert.equal(isStopped(), true);
});

test("on idle processors one more job starts with each measurement, up to the limit", async () => {
  const { begun, measure, end, done } = pool(6);
  for (const expected of [3, 4, 4]) {
    measure(0.9);
    assert.equal(begun.length, expected);
  }
  // Above the minimum number, the next one starts only after a measurement.
  await end(0);
  assert.equal(begun.length, 4);
  measure(0.9);
  assert.equal(begun.length, 5);
  for (let job = 1; job < 6; job++) await end(job);
  await done;
  assert.deepEqual(begun, [0, 1, 2, 3, 4, 5]);
});

test("a job that waits for something does not keep others from starting", async () => {
  const image = Promise.withResolvers();
  const { begun, end, done } = pool(4, { 0: image.promise, 3: image.promise });
  assert.deepEqual(begun, [1, 2]);
  await end(1);
  assert.deepEqual(begun, [1, 2]);
  image.resolve();
  await image.promise;
  assert.deepEqual(begun, [1, 2, 0]);
  await end(2);
  assert.deepEqual(begun, [1, 2, 0, 3]);
  await end(0);
  await end(3);
  await done;
});

test("a pool without jobs finishes", () => pool(0).done);

test("a job that throws ends the pool with its error", async () => {
  const { done, fail } = pool(3);
  fail(0, new Error("no such program"));
  await assert.rejects(done, /no such program/);
});

test("the idle share of the processors is measured since the previous measurement", () => {
  const times = [
    { free: 100, total: 1000 },
    { free: 150, total: 1100 },
    { free: 150, total: 1200 },
    { free: 150, total: 1200 },
  ];
  const share = freeShare(() => times.shift());
  assert.deepEqual([share(), share(), share()], [0.5, 0, 0]);
});

test("only idle time of processors is free", () => {
  const times = { user: 20, nice: 50, sys: 10, idle: 20, irq: 5 };
  assert.deepEqual(processorTimes([{ times }, { times }]), { free: 40, total: 210 });
});

test("the slowest files start first, the others keep their order", () => {
  const jobs = ["a", slowest[2], "b", slowest[0], slowest[2]].map((file) => ({ files: [file] }));
  assert.deepEqual(
    slowestFirst(jobs).map(({ files }) => files[0]),
    [slowest[0], slowest[2], slowest[2], "a", "b"],
  );
});

test("the files in the list of slow files exist", () => {
  assert.deepEqual(
    slowest.filter((file) => !existsSync(join(root, file))),
    [],
  );
});
