import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutRepeats } from "./without-repeats.ts";

const long = "abcdefghij-0123456789-ABCDEFGHIJ-9876543210";
const all = () => true;

test("a text of more than 40 characters stands once, within a line and across lines", () => {
  assert.deepEqual(withoutRepeats([`x ${long} y:${long}.`, `${long}!`], all), [`x ${long} y:….`, "…!"]);
});

test("a shorter text may be repeated", () => {
  const short = long.slice(0, 40);
  assert.deepEqual(withoutRepeats([`a ${short} b`, `c:${short}.`], all), [`a ${short} b`, `c:${short}.`]);
});

test("a line that may not change is kept, and counts for those after it", () => {
  const keep = (line: string) => !line.startsWith("try");
  assert.deepEqual(withoutRepeats([long, `try ${long}`, `again ${long}`], keep), [
    long,
    `try ${long}`,
    "again…",
  ]);
});
