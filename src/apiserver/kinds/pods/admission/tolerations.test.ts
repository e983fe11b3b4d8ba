import assert from "node:assert/strict";
import { test } from "node:test";
import { mergeTolerations, type Toleration } from "./tolerations.ts";

const all: Toleration = { operator: "Exists" };
const gpu: Toleration = { key: "gpu", operator: "Exists" };
const gpuYes: Toleration = { key: "gpu", operator: "Equal", value: "yes", effect: "NoSchedule" };
const short: Toleration = { key: "gpu", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 };
const long: Toleration = { ...short, tolerationSeconds: 60 };

const rows: [rule: string, first: Toleration[], second: Toleration[], merged: Toleration[]][] = [
  ["a duplicate is dropped, the first position is kept", [gpuYes, short], [gpuYes], [gpuYes, short]],
  ["a toleration that covers everything replaces all others, at any position", [gpuYes, all], [gpu], [all]],
  ["a key covers its values", [gpuYes], [gpu], [gpu]],
  ["a value does not cover its key", [gpu], [gpuYes], [gpu]],
  ["another value is kept", [gpuYes], [{ ...gpuYes, value: "no" }], [gpuYes, { ...gpuYes, value: "no" }]],
  ["another effect is kept", [gpuYes], [short], [gpuYes, short]],
  ["longer covers shorter", [short], [long], [long]],
  [
    "an unlimited toleration is not covered by a limited one",
    [long],
    [{ ...gpu, effect: "NoExecute" }],
    [{ ...gpu, effect: "NoExecute" }],
  ],
];
for (const [rule, first, second, merged] of rows)
  test(`merged tolerations: ${rule}`, () => {
    assert.deepEqual(mergeTolerations(first, second), merged);
  });
