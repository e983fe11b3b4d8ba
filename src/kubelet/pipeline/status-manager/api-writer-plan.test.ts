import assert from "node:assert/strict";
import { test } from "node:test";
import { wallTime } from "../../../lib/base/time.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import { annotationMirror, type Pod } from "../../../lib/model/pod.ts";
import { newerOf, planWrite } from "./api-writer-plan.ts";

const deletionTimestamp = "2026-01-01T00:00:00Z";
const inApi = (phase: string, metadata: Partial<Pod["metadata"]> = {}) =>
  fakePod({ metadata, status: { phase } });

const cases: {
  rule: string;
  api: Pod | undefined;
  own: string;
  resourcesReclaimed: boolean;
  step: string;
}[] = [
  {
    rule: "an unknown pod is read first",
    api: undefined,
    own: "Running",
    resourcesReclaimed: false,
    step: "get",
  },
  {
    rule: "a difference is written",
    api: inApi("Pending"),
    own: "Running",
    resourcesReclaimed: false,
    step: "patch",
  },
  {
    rule: "an equal status is not written",
    api: inApi("Running"),
    own: "Running",
    resourcesReclaimed: false,
    step: "none",
  },
  {
    rule: "the final status is written before the pod is deleted",
    api: inApi("Running", { deletionTimestamp }),
    own: "Failed",
    resourcesReclaimed: true,
    step: "patch",
  },
  {
    rule: "a pod whose final status was written is deleted",
    api: inApi("Failed", { deletionTimestamp }),
    own: "Failed",
    resourcesReclaimed: true,
    step: "delete",
  },
  {
    rule: "a pod with resources on the node is not deleted",
    api: inApi("Failed", { deletionTimestamp }),
    own: "Failed",
    resourcesReclaimed: false,
    step: "none",
  },
  {
    rule: "a pod that has not terminated is not deleted",
    api: inApi("Running", { deletionTimestamp }),
    own: "Running",
    resourcesReclaimed: true,
    step: "none",
  },
  {
    rule: "a pod without a deletion timestamp is not deleted",
    api: inApi("Failed"),
    own: "Failed",
    resourcesReclaimed: true,
    step: "none",
  },
  {
    rule: "a mirror pod is not deleted",
    api: inApi("Failed", { deletionTimestamp, annotations: { [annotationMirror]: "h" } }),
    own: "Failed",
    resourcesReclaimed: true,
    step: "none",
  },
];

for (const { rule, api, own, resourcesReclaimed, step } of cases)
  test(`write plan: ${rule}`, () => {
    const info = {
      api,
      own: { phase: own },
      couldHaveRunningContainers: false,
      resourcesReclaimed,
      now: wallTime(0),
      ignoredPatch: undefined,
    };
    assert.equal(planWrite(info).kind, step);
  });

const versions: [string, string | undefined, string | undefined, "received" | "watched"][] = [
  ["the watch is newer", "9", "10", "watched"],
  ["the watch is older", "10", "9", "received"],
  ["the versions cannot be compared", "x10", "x9", "received"],
  ["the watch has not delivered the pod", "10", undefined, "received"],
  ["there was no response", undefined, "9", "watched"],
];
for (const [when, received, watched, expected] of versions)
  test(`the ${expected} version is used when ${when}`, () => {
    const [a, w] = [received, watched].map((v) => v && inApi("Running", { resourceVersion: v })) as Pod[];
    assert.equal(newerOf(a, w), expected === "received" ? a : w);
  });
