import assert from "node:assert/strict";
import { test } from "node:test";
import { chartWindow, emptyText } from "./chart-window.ts";

test("a chart shows the last hour, and with less history it starts with the first sample", () => {
  assert.deepEqual(chartWindow(1000, 9000, 0), [5400, 9000]);
  assert.deepEqual(chartWindow(1000, 2000, 0), [1000, 2000]);
  assert.deepEqual(chartWindow(1000, 1005, 0), [1000, 1300], "it is not narrower than five minutes");
  assert.deepEqual(chartWindow(null, null, 50), [50, 350]);
});

test("a chart without values states since when it measures", () => {
  const format = (at: number) => `time ${at}`;
  assert.equal(emptyText([7, 8], format), "No values yet, measured since time 7");
  assert.equal(emptyText([], format), "No values yet");
});
