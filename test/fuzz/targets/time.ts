import assert from "node:assert/strict";
import { parseLogTime } from "../../../src/kubelet/server/logs/log-time.ts";
import { formatDuration, parseDuration } from "../../../src/lib/config/duration.ts";
import type { FuzzTarget } from "../target.ts";

/** Durations, and times in RFC 3339. */
export default {
  seeds: [
    "1m30s",
    "100ms",
    "1.5h",
    "0",
    "-2h45m",
    "1µs",
    "1us5ns",
    ".5s",
    "2026-01-31T07:05:00.5Z",
    "2024-02-29t00:00:00,1-05:30",
  ],
  maxLength: 80,
  run(input) {
    const text = input.toString("utf8");
    const duration = parseDuration(text);
    if (duration !== undefined) {
      assert.ok(Number.isFinite(duration));
      const written = formatDuration(duration);
      const again = parseDuration(written) ?? assert.fail(`${written} cannot be read`);
      // A number of milliseconds is exact to the nanosecond for a few months.
      assert.ok(Math.abs(again - duration) <= Math.abs(duration) * 1e-15 + 1e-6, written);
      assert.equal(formatDuration(again), written);
    }
    const time = parseLogTime(text);
    if (time === undefined) return;
    const standard = Date.parse(text.toUpperCase().replace(/[.,]\d+/, ""));
    assert.equal(Math.floor(time.ms / 1000) * 1000, standard, text);
  },
} satisfies FuzzTarget;
