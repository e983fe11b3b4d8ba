import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodStanding } from "../pods/garbage/container-plan.ts";
import { standingOf } from "./garbage-collection.ts";

const table: [rule: string, phase: string | undefined, isWanted: boolean, mayEnd: boolean, PodStanding][] = [
  ["its worker runs it", "syncing", true, true, "live"],
  ["its worker ends it", "terminating", false, true, "live"],
  ["its worker has ended it", "terminated", true, true, "ended"],
  ["it has no worker yet", undefined, true, true, "live"],
  ["nobody wants it", undefined, false, true, "gone"],
  ["somebody else may want it", undefined, false, false, "foreign"],
];
for (const [rule, phase, isWanted, mayEnd, standing] of table)
  test(`a pod is ${standing}: ${rule}`, () =>
    assert.equal(
      standingOf({ worker: phase === undefined ? undefined : { phase }, isWanted, mayEnd }),
      standing,
    ));
