import assert from "node:assert/strict";
import { test } from "node:test";
import { Backoff } from "./backoff.ts";
import { monotonicTime } from "./fake-clock.ts";

const limits = { initialMs: 10, maxMs: 100, resetMs: 1000 };

const table: [rule: string, failuresAt: number[], delays: number[]][] = [
  ["delays double up to the limit", [0, 10, 30, 70, 150, 250], [10, 20, 40, 80, 100, 100]],
  ["a long time without a failure resets the back-off", [0, 10, 1030], [10, 20, 10]],
  ["the time of the wait itself does not count as time without a failure", [0, 10, 1029], [10, 20, 40]],
];
for (const [rule, failuresAt, delays] of table)
  test(`back-off: ${rule}`, () => {
    const backoff = new Backoff(limits);
    assert.deepEqual(
      failuresAt.map((at) => backoff.failed("k", monotonicTime(at))),
      delays,
    );
  });

test("back-off: returns when to retry, for each key separately", () => {
  const backoff = new Backoff(limits);
  assert.equal(backoff.readyAt("a"), undefined);
  backoff.failed("a", monotonicTime(5));
  backoff.failed("a", monotonicTime(20));
  backoff.failed("b", monotonicTime(20));
  assert.equal(backoff.readyAt("a"), 40);
  assert.equal(backoff.readyAt("b"), 30);
});

test("back-off: a success resets the delay", () => {
  const backoff = new Backoff(limits);
  backoff.failed("a", monotonicTime(0));
  backoff.succeeded("a");
  assert.equal(backoff.readyAt("a"), undefined);
  assert.equal(backoff.failed("a", monotonicTime(1)), 10);
});

test("back-off: all keys with a prefix can be dropped", () => {
  const backoff = new Backoff(limits);
  for (const key of ["u1_x", "u1_y", "u10_x"]) backoff.failed(key, monotonicTime(0));
  backoff.forget("u1_");
  assert.deepEqual(
    ["u1_x", "u1_y", "u10_x"].map((key) => backoff.readyAt(key)),
    [undefined, undefined, 10],
  );
});
