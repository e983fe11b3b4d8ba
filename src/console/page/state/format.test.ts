import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  count,
  formatAge,
  formatBytes,
  formatCpu,
  formatDate,
  formatDuration,
  formatPercent,
  formatRate,
  formatTime,
} from "./format.ts";
import { resourceFormat } from "./resources.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

function table<T>(name: string, format: (value: T) => string, rows: readonly (readonly [T, string])[]): void {
  describe(name, () => {
    for (const [value, expected] of rows)
      test(`${value} is shown as "${expected}"`, () => assert.equal(format(value), expected));
  });
}

table<number | undefined>("bytes", formatBytes, [
  [undefined, "–"],
  [0, "0 B"],
  [999, "999 B"],
  [1000, "0.98 KiB"],
  [1024, "1.00 KiB"],
  [10 * 1024, "10.0 KiB"],
  [128 * 1024 ** 2, "128 MiB"],
  [1.5 * 1024 ** 3, "1.50 GiB"],
  [5000 * 1024 ** 5, "5000 PiB"],
]);
table<number | undefined>("cores", formatCpu, [
  [undefined, "–"],
  [0, "0"],
  [0.0004, "<1m"],
  [0.0621, "62m"],
  [0.9999, "1.00"],
  [1.5, "1.50"],
  [12.34, "12.3"],
  [128, "128"],
]);
table<number | undefined>("shares", formatPercent, [
  [undefined, "–"],
  [0, "0%"],
  [0.004, "0.4%"],
  [0.0096, "1%"],
  [0.666, "67%"],
]);
table("ages, as kubectl prints them,", formatAge, [
  [-5, "0s"],
  [119 * second, "119s"],
  [2 * minute, "2m"],
  [3 * minute + 12 * second, "3m12s"],
  [10 * minute + 5 * second, "10m"],
  [179 * minute, "179m"],
  [3 * hour, "3h"],
  [5 * hour + 3 * minute, "5h3m"],
  [47 * hour, "47h"],
  [52 * hour, "2d4h"],
  [400 * 24 * hour, "400d"],
]);
table<number | undefined>("durations in seconds", formatDuration, [
  [undefined, "–"],
  [0.0032, "3 ms"],
  [0.42, "0.42 s"],
  [12.34, "12.3 s"],
  [250, "4m10s"],
]);

test("a rate is in bytes per second, and unknown without a value", () => {
  assert.deepEqual([formatRate(2048), formatRate(undefined)], ["2.00 KiB/s", "–"]);
});

test("times are in the time zone of the browser", () => {
  const time = new Date(2026, 10, 7, 4, 5, 6).getTime();
  assert.deepEqual([formatTime(time), formatDate(time)], ["04:05:06", "2026-11-07 04:05"]);
});

test("a number and its noun agree", () => {
  assert.deepEqual([count(1, "pod"), count(0, "pod"), count(3, "pod")], ["1 pod", "0 pods", "3 pods"]);
});

test("the unit of an amount follows from the name of the resource", () => {
  const shown = ["cpu", "memory", "hugepages-2Mi", "pods", "example.com/gpu"].map((name) =>
    resourceFormat(name)(2),
  );
  assert.deepEqual(shown, ["2.00", "2 B", "2 B", "2", "2"]);
  assert.equal(resourceFormat("memory")(null), "–");
});
