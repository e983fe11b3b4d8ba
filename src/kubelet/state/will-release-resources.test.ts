import assert from "node:assert/strict";
import { test } from "node:test";
import { aPod } from "../../../test/builders/pods.ts";
import { willReleaseResources } from "./will-release-resources.ts";

for (const [rule, pod, expected] of [
  ["runs", { phase: "syncing", status: { phase: "Running" } }, false],
  ["has no worker yet", { phase: undefined, status: undefined }, false],
  ["is being terminated", { phase: "terminating", status: { phase: "Running" } }, true],
  ["has just terminated", { phase: "terminated", status: { phase: "Running" } }, true],
  ["has completed, before its worker acts on it", { phase: "syncing", status: { phase: "Succeeded" } }, true],
] as const)
  test(`a pod that ${rule} ${expected ? "will release" : "keeps"} its resources`, () => {
    assert.equal(willReleaseResources({ desired: aPod(), ...pod }), expected);
    assert.equal(willReleaseResources({ ...pod, desired: undefined }), true, "no source has it");
  });
