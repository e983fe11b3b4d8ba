import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodGcState } from "../pods/garbage/container-plan.ts";
import { gcStateOf } from "./garbage-collection.ts";

const table: [
  rule: string,
  phase: string | undefined,
  isDesired: boolean,
  mayTerminate: boolean,
  PodGcState,
][] = [
  ["its worker runs it", "syncing", true, true, "active"],
  ["its worker terminates it", "terminating", false, true, "active"],
  ["its worker has terminated it", "terminated", true, true, "terminated"],
  ["it has no worker yet", undefined, true, true, "active"],
  ["it is an orphan", undefined, false, true, "orphaned"],
  ["another kubelet may own it", undefined, false, false, "foreign"],
];
for (const [rule, phase, isDesired, mayTerminate, gcState] of table)
  test(`a pod is ${gcState}: ${rule}`, () =>
    assert.equal(
      gcStateOf({
        worker: phase === undefined ? undefined : { phase, evicted: false },
        isDesired,
        mayTerminate,
      }),
      gcState,
    ));

test("a pod is evicted: its worker has terminated it to free resources", () => {
  const worker = { phase: "terminated", evicted: true };
  assert.equal(gcStateOf({ worker, isDesired: true, mayTerminate: true }), "evicted");
  assert.equal(
    gcStateOf({ worker: { ...worker, phase: "terminating" }, isDesired: true, mayTerminate: true }),
    "active",
  );
});
