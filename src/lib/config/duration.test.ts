import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatDuration, fromNanoseconds, parseDuration } from "./duration.ts";

const table: [text: string, ms: number, canonical: string][] = [
  ["0", 0, "0s"],
  ["-0", 0, "0s"],
  ["1m0s", 60_000, "1m0s"],
  ["60s", 60_000, "1m0s"],
  ["1.5h", 5_400_000, "1h30m0s"],
  ["4h", 14_400_000, "4h0m0s"],
  ["100ms", 100, "100ms"],
  ["1500ms", 1500, "1.5s"],
  ["1500µs", 1.5, "1.5ms"],
  ["1500μs", 1.5, "1.5ms"],
  ["10us", 0.01, "10µs"],
  ["7ns", 0.000007, "7ns"],
  ["-1m30s", -90_000, "-1m30s"],
  ["+2s", 2000, "2s"],
  [".5s", 500, "500ms"],
  ["1.s", 1000, "1s"],
];
for (const [text, ms, canonical] of table) {
  test(`duration "${text}" is ${ms} ms and is written "${canonical}"`, () => {
    assert.equal(parseDuration(text), ms);
    assert.equal(formatDuration(ms), canonical);
  });
}

for (const text of ["", "-", "1", "s", "1 s", "1d", "1m 30s", "1ms1", ".s", "1e3s", "9999999999h", "--1s"]) {
  test(`"${text}" is not a duration`, () => assert.equal(parseDuration(text), undefined));
}

test("a number of nanoseconds is a duration", () => assert.equal(fromNanoseconds(5_000_000_000), 5000));

test("a formatted duration parses to the same value", () => {
  fc.assert(
    fc.property(fc.integer({ min: -(10 ** 15), max: 10 ** 15 }), (ns) => {
      const duration = fromNanoseconds(ns);
      assert.equal(parseDuration(formatDuration(duration)), duration);
    }),
  );
});
