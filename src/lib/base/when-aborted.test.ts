import assert from "node:assert/strict";
import { test } from "node:test";
import { whenAborted } from "./when-aborted.ts";

test("the callback runs once, after the abort or immediately", () => {
  const controller = new AbortController();
  const calls: string[] = [];
  whenAborted(controller.signal, () => calls.push("later"));
  assert.equal(calls.length, 0);
  controller.abort();
  controller.abort();
  whenAborted(controller.signal, () => calls.push("immediately"));
  assert.deepEqual(calls, ["later", "immediately"]);
});
