import assert from "node:assert/strict";
import { test } from "node:test";
import { wallTime } from "../../../lib/base/time.ts";
import { planRotation, rotatedName } from "./rotation-plan.ts";

const table: [rule: string, maxFiles: number, rotated: string, remove: string, compress: string][] = [
  ["nothing yet", 5, "", "", ""],
  ["what was put aside last is compressed now", 5, "l.2 l.1.gz", "", "l.2"],
  ["with two files a log keeps only what is put aside next", 2, "l.1", "l.1", ""],
  ["as many stay as leave room for the log and the next", 5, "l.4 l.3.gz l.2.gz l.1.gz", "l.1.gz", "l.4"],
  ["the oldest go first", 3, "l.1.gz l.4 l.2.gz l.3.gz", "l.1.gz l.2.gz l.3.gz", "l.4"],
  ["a compression that was cut off begins anew", 5, "l.1 l.1.tmp", "l.1.tmp", "l.1"],
  ["one that was not cleaned up after is", 5, "l.1 l.1.gz", "l.1", ""],
  ["what is not whole does not count", 3, "l.2.gz l.2 l.9.tmp", "l.2 l.9.tmp", ""],
];
for (const [rule, maxFiles, rotated, remove, compress] of table)
  test(`rotated logs: ${rule}`, () => {
    const plan = planRotation(rotated.split(" ").filter(Boolean), maxFiles);
    assert.deepEqual([plan.remove.join(" "), plan.compress.join(" ")], [remove, compress]);
  });

test("a log that is put aside carries the local time", () => {
  const now = new Date(2026, 0, 2, 3, 4, 5).getTime();
  assert.equal(rotatedName("/x/0.log", wallTime(now)), "/x/0.log.20260102-030405");
});
