import assert from "node:assert/strict";
import { test } from "node:test";
import { median, percentile, summarize } from "./statistics.ts";

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
  test(`the percentile ${percent} of 1 to 10 is ${expected}`, () =>
    assert.equal(percentile([10, 9, 8, 7, 6, 5, 4, 3, 2, 1], percent), expected));

test("median and percentile of no values are errors", () => {
  assert.throws(() => median([]), RangeError);
  assert.throws(() => percentile([], 50), RangeError);
  assert.throws(() => summarize([]), RangeError);
});

test("a summary has the median, the range and the values in the order of the rounds", () => {
  assert.deepEqual(summarize([4, 1, 3, 2]), { median: 2.5, least: 1, most: 4, values: [4, 1, 3, 2] });
});
