import assert from "node:assert/strict";
import { test } from "node:test";
import { humanDuration, since } from "./human-duration.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const durations: [number, string][] = [
  [-2 * second, "<invalid>"],
  [-1.9 * second, "0s"],
  [-1 * second, "0s"],
  [0, "0s"],
  [999, "0s"],
  [70 * second, "70s"],
  [2 * minute - 1, "119s"],
  [2 * minute, "2m"],
  [5 * minute + 10 * second, "5m10s"],
  [10 * minute - 1, "9m59s"],
  [10 * minute, "10m"],
  [3 * hour - 1, "179m"],
  [3 * hour, "3h"],
  [3 * hour + 30 * minute, "3h30m"],
  [8 * hour - 1, "7h59m"],
  [8 * hour, "8h"],
  [48 * hour - 1, "47h"],
  [2 * day, "2d"],
  [2 * day + hour, "2d1h"],
  [8 * day - 1, "7d23h"],
  [8 * day, "8d"],
  [2 * 365 * day - 1, "729d"],
  [2 * 365 * day, "2y"],
  [2 * 365 * day + 23 * hour, "2y"],
  [2 * 365 * day + day, "2y1d"],
  [8 * 365 * day - 1, "7y364d"],
  [8 * 365 * day, "8y"],
  [9 * 365 * day + 40 * day, "9y"],
];

for (const [ms, text] of durations) {
  test(`${ms} ms are ${text}`, () => assert.equal(humanDuration(ms), text));
}

test("the age of an object without a timestamp is unknown", () => {
  assert.equal(since(undefined, 0), "<unknown>");
  assert.equal(since(null, 0), "<unknown>");
  assert.equal(since("1970-01-01T00:00:01Z", 61_000), "60s");
});
