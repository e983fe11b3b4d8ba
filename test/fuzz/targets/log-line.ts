import assert from "node:assert/strict";
import { readEntry, readHeader } from "../../../src/kubelet/server/logs/log-entry.ts";
import { formatLogTime, parseLogTime, TimeFilter } from "../../../src/kubelet/server/logs/log-time.ts";
import type { FuzzTarget } from "../target.ts";

/** A line of a container's log, in the format of the CRI and of Docker. */
export default {
  seeds: [
    "2026-01-31T07:05:00.123456789Z stdout F hello",
    "2026-01-31T07:05:00.1+02:00 stderr P:x part",
    '{"log":"text\\n","stream":"stdout","time":"2026-01-31T07:05:00Z"}',
  ],
  maxLength: 300,
  run(input) {
    const entry = readEntry(input, 0, input.length, 0);
    if (input[0] !== 123) assertLine(input, entry?.text);
    if (entry === undefined) return;
    assert.ok(entry.text.length <= 3 * input.length);
    const stamp = entry.stamp();
    const time = parseLogTime(stamp);
    const isOld = new TimeFilter({ ms: Date.UTC(2026, 0, 31), nanos: 5 }).isOlder(stamp);
    if (time === undefined) return;
    assert.ok(Number.isSafeInteger(time.ms) && time.nanos >= 0 && time.nanos < 1_000_000);
    assert.deepEqual(parseLogTime(formatLogTime(stamp)), time);
    const isCanonical = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(stamp);
    const limit = Date.UTC(2026, 0, 31);
    if (isCanonical) assert.equal(isOld, time.ms < limit || (time.ms === limit && time.nanos < 5), stamp);
  },
} satisfies FuzzTarget;

/** A regular expression reads the same line. */
function assertLine(input: Buffer, text: Buffer | undefined): void {
  const found = /^(.{20}[^ ]*) (stdout|stderr) ([^ ]*) /s.exec(input.toString("latin1"));
  if (text === undefined) return;
  assert.ok(found !== null, "an entry where there is none");
  assert.equal(text.toString("latin1"), input.toString("latin1").slice(found[0].length));
  const header = readHeader(input, 0, input.length);
  assert.equal(header?.stream, found[2]);
  assert.equal(header?.partial, found[3]?.split(":")[0] === "P");
}
