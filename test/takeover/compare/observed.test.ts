import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";
import { long } from "../../long.ts";
import { reference, unavailable } from "../run-isolated.ts";
import { unexplainedDifferences, unintendedDifferences } from "./accepted.ts";
import { type AllFacts, kinds, recordedKinds } from "./kinds.ts";
import { observe } from "./observe.ts";

/** The facts of a kubelet v1.36.4 with the same pods, on a machine with cgroup v2 and systemd. */
const recorded: Partial<AllFacts> = JSON.parse(
  readFileSync(new URL("../../fixtures/takeover/observed-facts.json", import.meta.url), "utf8"),
);

describe(long("what a node of kubelet-ts shows"), { skip: unavailable }, () => {
  let ours: AllFacts;
  let theirs: AllFacts | undefined;
  before(async () => {
    ours = await observe("ours");
    if (reference) theirs = await observe("reference");
  });

  for (const kind of recordedKinds)
    test(`${kind}: equal to the record of the reference kubelet, except for the machine`, () => {
      assert.deepEqual(unexplainedDifferences(kind, recorded[kind] ?? {}, ours[kind]), []);
    });

  for (const kind of kinds)
    test(`${kind}: equal to those of the reference kubelet on this machine`, {
      skip: reference ? false : "KUBELET_REFERENCE is not set",
    }, () => {
      assert.deepEqual(unintendedDifferences(kind, theirs?.[kind] ?? {}, ours[kind]), []);
    });
});
