import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { formatLogTime, isBefore, parseLogTime, TimeFilter } from "./log-time.ts";

test("times are parsed to the nanosecond, in any zone; invalid ones are rejected", () => {
  const base = Date.UTC(2026, 0, 31, 12, 30, 59);
  for (const [text, expected] of [
    ["2026-01-31T12:30:59Z", { ms: base, nanos: 0 }],
    ["2026-01-31T12:30:59.5Z", { ms: base + 500, nanos: 0 }],
    ["2026-01-31T12:30:59.123456789Z", { ms: base + 123, nanos: 456_789 }],
    ["2026-01-31T14:30:59.000000001+02:00", { ms: base, nanos: 1 }],
    ["2026-01-31T07:00:59-05:30", { ms: base, nanos: 0 }],
    ["0026-02-28T00:00:00Z", { ms: Date.parse("0026-02-28T00:00:00Z"), nanos: 0 }],
    ["0000-02-29T00:00:00Z", { ms: Date.parse("0000-02-29T00:00:00Z"), nanos: 0 }],
    ["2026-02-30T00:00:00Z", undefined],
    ["2026-13-01T00:00:00Z", undefined],
    ["2026-00-31T12:00:00Z", undefined],
    ["2026-01-31T12:00:00+24:00", undefined],
    ["2026-01-31T12:00:00-05:60", undefined],
    ["2026-01-31T24:00:00Z", undefined],
    ["2026-01-31T12:60:00Z", undefined],
    ["2026-01-31 12:30:59Z", undefined],
    ["2026-01-31T12:30:59", undefined],
    ["", undefined],
  ] as const)
    assert.deepEqual(parseLogTime(text), expected, text);
});

test("times are shown with nine digits", () => {
  for (const [text, expected] of [
    ["2026-01-31T12:30:59Z", "2026-01-31T12:30:59.000000000Z"],
    ["2026-01-31T12:30:59.5+01:00", "2026-01-31T12:30:59.500000000+01:00"],
    ["2026-01-31T12:30:59.123456789+00:00", "2026-01-31T12:30:59.123456789Z"],
  ] as const)
    assert.equal(formatLogTime(text), expected);
});

test("the quick check of an entry's time equals the exact one", () => {
  const base = Date.UTC(2026, 0, 1);
  const part = fc.record({
    ms: fc.integer({ min: -4000, max: 4000 }),
    nanos: fc.integer({ min: 0, max: 999_999 }),
    hours: fc.integer({ min: -12, max: 14 }),
  });
  fc.assert(
    fc.property(part, part, (entry, since) => {
      const local = new Date(base + entry.ms + entry.hours * 3_600_000).toISOString().slice(0, -1);
      const two = String(Math.abs(entry.hours)).padStart(2, "0");
      const zone = entry.hours === 0 ? "Z" : `${entry.hours < 0 ? "-" : "+"}${two}:00`;
      const text = `${local}${String(entry.nanos).padStart(6, "0")}${zone}`;
      const moment = { ms: base + since.ms, nanos: since.nanos };
      assert.equal(new TimeFilter(moment).isOlder(text), isBefore(parseLogTime(text)!, moment), text);
    }),
    { seed: 5, numRuns: 2000 },
  );
});
