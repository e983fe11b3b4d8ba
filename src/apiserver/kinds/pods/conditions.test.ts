import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodStatus } from "../../../lib/model/pod.ts";
import { setCondition } from "./conditions.ts";

test("the time of a condition is that of its last change of status", () => {
  const status: PodStatus = {};
  const type = "PodScheduled";
  const at = (second: number) => Date.UTC(2026, 0, 1, 0, 0, second, 345);
  setCondition(status, { type, status: "False", reason: "A", message: "a" }, at(1));
  setCondition(status, { type: "Other", status: "True" }, at(1));
  setCondition(status, { type, status: "False", reason: "B" }, at(2));
  assert.deepEqual(status.conditions?.[0], {
    type,
    status: "False",
    reason: "B",
    lastTransitionTime: "2026-01-01T00:00:01Z",
  });
  setCondition(status, { type, status: "True" }, at(3));
  assert.deepEqual(status.conditions, [
    { type, status: "True", lastTransitionTime: "2026-01-01T00:00:03Z" },
    { type: "Other", status: "True", lastTransitionTime: "2026-01-01T00:00:01Z" },
  ]);
});
