import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../test/builders/pods.ts";
import { notActedOn } from "./not-acted-on.ts";

test("fields that change nothing yet are named with their path, and only those that are set", () => {
  const pod = aPod({ volumes: [], runtimeClassName: "fast", activeDeadlineSeconds: 5 });
  assert.deepEqual(notActedOn(pod, false), ["spec.runtimeClassName"]);
  assert.deepEqual(notActedOn(pod, true), []);
  assert.deepEqual(notActedOn(aPod(), false), []);
});
