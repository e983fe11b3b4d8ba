import assert from "node:assert/strict";
import { test } from "node:test";
import { wallTime } from "../../../lib/base/time.ts";
import { fakePod } from "../../../lib/model/fake-pod.ts";
import { annotationMirror, type Pod } from "../../../lib/model/pod.ts";
import { newerOf, planWrite } from "./api-writer-plan.ts";

const deletionTimestamp = "2026-01-01T00:00:00Z";
const inApi = (phase: string, metadata: Partial<Pod["metadata"]> = {}) =>
  fakePod({ metadata, status: { phase } });

const cases: { rule: string; api: Pod | undefined; own: string; isCleared: boolean; step: string }[] = [
  { rule: "what the API has must be known", api: undefined, own: "Running", isCleared: false, step: "look" },
  { rule: "what differs is written", api: inApi("Pending"), own: "Running", isCleared: false, step: "patch" },
  {
    rule: "what is the same is left alone",
    api: inApi("Running"),
    own: "Running",
    isCleared: false,
    step: "rest",
  },
  {
    rule: "how a pod ended is told before it is deleted",
    api: inApi("Running", { deletionTimestamp }),
    own: "Failed",
    isCleared: true,
    step: "patch",
  },
  {
    rule: "then it is deleted",
    api: inApi("Failed", { deletionTimestamp }),
    own: "Failed",
    isCleared: true,
    step: "delete",
  },
  {
    rule: "not while something of it is left",
    api: inApi("Failed", { deletionTimestamp }),
    own: "Failed",
    isCleared: false,
    step: "rest",
  },
  {
    rule: "not while it has not ended",
    api: inApi("Running", { deletionTimestamp }),
    own: "Running",
    isCleared: true,
    step: "rest",
  },
  { rule: "not if nobody wants it", api: inApi("Failed"), own: "Failed", isCleared: true, step: "rest" },
  {
    rule: "not if it is a mirror",
    api: inApi("Failed", { deletionTimestamp, annotations: { [annotationMirror]: "h" } }),
    own: "Failed",
    isCleared: true,
    step: "rest",
  },
];

for (const { rule, api, own, isCleared, step } of cases)
  test(`write plan: ${rule}`, () => {
    const facts = {
      api,
      own: { phase: own },
      couldHaveRunningContainers: false,
      isCleared,
      now: wallTime(0),
      notTaken: undefined,
    };
    assert.equal(planWrite(facts).kind, step);
  });

const versions: [string, string | undefined, string | undefined, "answered" | "watched"][] = [
  ["the watch is ahead", "9", "10", "watched"],
  ["the watch is behind", "10", "9", "answered"],
  ["they cannot be compared", "x10", "x9", "answered"],
  ["nothing was watched", "10", undefined, "answered"],
  ["nothing was answered", undefined, "9", "watched"],
];
for (const [when, answered, watched, expected] of versions)
  test(`go by what was ${expected} when ${when}`, () => {
    const [a, w] = [answered, watched].map((v) => v && inApi("Running", { resourceVersion: v })) as Pod[];
    assert.equal(newerOf(a, w), expected === "answered" ? a : w);
  });
