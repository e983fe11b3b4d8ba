import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodStanding } from "../pods/garbage/container-plan.ts";
import { standingOf } from "./garbage-collection.ts";

const table: [rule: string, phase: string | undefined, isDesired: boolean, mayEnd: boolean, PodStanding][] = [
  ["its worker runs it", "syncing", true, true, "live"],
  ["its worker terminates it", "terminating", false, true, "live"],
  ["its worker has terminated it", "terminated", true, true, "ended"],
  ["it has no worker yet", undefined, true, true, "live"],
  ["it is an orphan", undefined, false, true, "gone"],
  ["another kubelet may own it", undefined, false, false, "foreign"],
];
for (const [rule, phase, isDesired, mayEnd, standing] of table)
  test(`a pod is ${standing}: ${rule}`, () =>
    assert.equal(
      standingOf({ worker: phase === undefined ? undefined : { phase }, isDesired, mayEnd }),
      standing,
    ));
