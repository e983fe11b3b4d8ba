import assert from "node:assert/strict";
import { test } from "node:test";
import { mergeKeys } from "./merge-keys.ts";
import { core } from "./types/core/core.ts";

const rows: [string, Record<string, string>][] = [
  ["PodStatus", { conditions: "type", podIPs: "ip", hostIPs: "ip", resourceClaimStatuses: "name" }],
  ["NodeStatus", { conditions: "type", addresses: "type" }],
  ["PersistentVolumeClaimStatus", { conditions: "type" }],
  // A list of plain values is merged, too, without a key.
  ["NodeSpec", {}],
];
for (const [name, expected] of rows)
  test(`a strategic merge patch of ${name} merges ${Object.keys(expected).join(", ") || "no list by a key"}`, () =>
    assert.deepEqual(mergeKeys(core.struct(name)!), expected));
