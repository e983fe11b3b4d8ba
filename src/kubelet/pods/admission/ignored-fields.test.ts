import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../../test/builders/pods.ts";
import { ignoredFields } from "./ignored-fields.ts";

test("ignored fields are listed with their path if they are set", () => {
  const pod = aPod({ volumes: [], runtimeClassName: "fast", activeDeadlineSeconds: 5 });
  assert.deepEqual(ignoredFields(pod, false), ["spec.runtimeClassName"]);
  assert.deepEqual(ignoredFields(pod, true), []);
  assert.deepEqual(ignoredFields(aPod(), false), []);
});
