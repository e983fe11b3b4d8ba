import assert from "node:assert/strict";
import { test } from "node:test";
import { median, percentile } from "./statistics.ts";

for (const [values, expected] of [
  [[7], 7],
  [[3, 1, 2], 2],
  [[4, 1, 3, 2], 2.5],
] as const)
  test(`the median of ${values.join(", ")} is ${expected}`, () => assert.equal(median(values), expected));

for (const [percent, expected] of [
  [0, 1],
  [50, 5],
  [90, 9],
  [91, 10],
  [100, 10],
] as const)
  test(`of 10, 9, …, 1 it is ${expected} that ${percent} % do not exceed`, () =>
    assert.equal(percentile([10, 9, 8, 7, 6, 5, 4, 3, 2, 1], percent), expected));

test("without values there is neither", () => {
  assert.throws(() => median([]), RangeError);
  assert.throws(() => percentile([], 50), RangeError);
});
