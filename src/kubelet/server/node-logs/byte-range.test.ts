import assert from "node:assert/strict";
import { test } from "node:test";
import { byteRange } from "./byte-range.ts";

test("the range of a header, limited to the file", () => {
  for (const [header, size, expected] of [
    [undefined, 10, undefined],
    ["bytes=0-3", 10, { start: 0, end: 3 }],
    ["bytes=4-", 10, { start: 4, end: 9 }],
    ["bytes=4-99", 10, { start: 4, end: 9 }],
    ["bytes=-3", 10, { start: 7, end: 9 }],
    ["bytes=-30", 10, { start: 0, end: 9 }],
    ["bytes=-3", 0, undefined],
    ["bytes=0-1,3-4", 10, undefined],
    ["bytes=10-", 10, "bad"],
    ["bytes=5-4", 10, "bad"],
    ["bytes=-0", 10, "bad"],
    ["bytes=-", 10, "bad"],
    ["bytes=x-y", 10, "bad"],
    ["bytes= 2 - 3 ", 10, { start: 2, end: 3 }],
    ["bytes=1-2-3", 10, "bad"],
    ["bytes=1 1-2", 10, "bad"],
    ["bytes=5", 10, "bad"],
    ["lines=1-2", 10, "bad"],
  ] as const)
    assert.deepEqual(byteRange(header, size), expected, `${header} of ${size}`);
});
