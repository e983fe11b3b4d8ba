import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import type { RuntimeState } from "../../lib/clients/cri/runtime-state.ts";
import { StatusResponseSchema } from "../../lib/gen/runtime/v1/api_pb.js";
import { RuntimeFeatures } from "./runtime-features.ts";

const runtime = { name: "r", version: "1", apiVersion: "v1" };

test("features are unknown before the first response, and kept while the runtime is unavailable", () => {
  let state: RuntimeState = { kind: "unknown" };
  const features = new RuntimeFeatures(() => state);
  assert.equal(features.supplementalGroupsPolicy(), undefined);
  assert.deepEqual(features.handlers(), []);
  const status = create(StatusResponseSchema, {
    runtimeHandlers: [
      { name: "", features: { userNamespaces: true, recursiveReadOnlyMounts: true } },
      { name: "old" },
    ],
    features: { supplementalGroupsPolicy: true },
  });
  const expected = [
    { name: "", userNamespaces: true, recursiveReadOnlyMounts: true },
    { name: "old", userNamespaces: false, recursiveReadOnlyMounts: false },
  ];
  state = { kind: "up", runtime, status };
  assert.equal(features.supplementalGroupsPolicy(), true);
  state = { kind: "unavailable", reason: "gone" };
  assert.equal(features.supplementalGroupsPolicy(), true);
  assert.deepEqual(features.handlers(), expected);
  assert.deepEqual(
    ["", "old", "none"].map((name) => features.recursiveReadOnly(name)),
    [true, false, false],
  );
});

test("an old runtime that reports no features has none, and the node status omits them", () => {
  const state: RuntimeState = { kind: "up", runtime, status: create(StatusResponseSchema) };
  const features = new RuntimeFeatures(() => state);
  assert.equal(features.supplementalGroupsPolicy(), false);
  assert.equal(features.reportedSupplementalGroupsPolicy(), undefined);
  assert.deepEqual(features.handlers(), []);
});
