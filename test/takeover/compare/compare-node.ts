import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";
import { unexplainedDifferences, unintendedDifferences } from "./accepted.ts";
import { type AllFacts, kinds, type Place } from "./kinds.ts";
import { observe } from "./observe.ts";

/** The facts of a kubelet v1.36.4 with the same pods; a host has a record for each version of cgroups. */
export type RecordName = "host-v1" | "host-v2" | "guest";

export const recordFile = (name: RecordName) =>
  new URL(`../../fixtures/takeover/observed-${name}.json`, import.meta.url);

/** The tests that compare a node of kubelet-ts with a record and, if there is one, with the reference kubelet in the same place. */
export function compareNode(place: Place, record: RecordName): void {
  const { KUBELET_REFERENCE: reference } = process.env;
  const recorded = JSON.parse(readFileSync(recordFile(record), "utf8")) as Partial<AllFacts>;
  let ours: AllFacts;
  let theirs: AllFacts | undefined;
  before(async () => {
    ours = await observe("ours", place);
    if (reference) theirs = await observe("reference", place);
  });

  for (const kind of kinds.filter((name) => recorded[name]))
    test(`${kind}: equal to the record of the reference kubelet, except for the machine`, () => {
      assert.deepEqual(unexplainedDifferences(kind, recorded[kind]!, ours[kind], place), []);
    });

  for (const kind of kinds)
    test(`${kind}: equal to those of the reference kubelet on this machine`, {
      skip: reference ? false : "KUBELET_REFERENCE is not set",
    }, () => {
      assert.deepEqual(unintendedDifferences(kind, theirs?.[kind] ?? {}, ours[kind], place), []);
    });
}
