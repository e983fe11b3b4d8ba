import assert from "node:assert/strict";
import { test } from "node:test";
import { wallTime } from "../../../lib/base/time.ts";
import { planRotation, rotatedName } from "./rotation-plan.ts";

const table: [rule: string, maxFiles: number, rotated: string, remove: string, compress: string][] = [
  ["there is nothing to do without rotated files", 5, "", "", ""],
  ["the file of the last rotation is compressed", 5, "l.2 l.1.gz", "", "l.2"],
  ["only the next rotated file is kept with a maximum of two files", 2, "l.1", "l.1", ""],
  [
    "the log and the next rotated file count toward the maximum",
    5,
    "l.4 l.3.gz l.2.gz l.1.gz",
    "l.1.gz",
    "l.4",
  ],
  ["the oldest are removed first", 3, "l.1.gz l.4 l.2.gz l.3.gz", "l.1.gz l.2.gz l.3.gz", "l.4"],
  ["an interrupted compression is restarted", 5, "l.1 l.1.tmp", "l.1.tmp", "l.1"],
  ["the original of a finished compression is removed", 5, "l.1 l.1.gz", "l.1", ""],
  ["incomplete files do not count toward the maximum", 3, "l.2.gz l.2 l.9.tmp", "l.2 l.9.tmp", ""],
];
for (const [rule, maxFiles, rotated, remove, compress] of table)
  test(`rotated logs: ${rule}`, () => {
    const plan = planRotation(rotated.split(" ").filter(Boolean), maxFiles);
    assert.deepEqual([plan.remove.join(" "), plan.compress.join(" ")], [remove, compress]);
  });

test("the name of a rotated log contains the local time", () => {
  const now = new Date(2026, 0, 2, 3, 4, 5).getTime();
  assert.equal(rotatedName("/x/0.log", wallTime(now)), "/x/0.log.20260102-030405");
});
