import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldRule, schemaFor } from "./schema.ts";

const rules: [string, string, string[], object][] = [
  ["v1", "Pod", ["spec", "containers"], { list: "keyed", keys: ["name"] }],
  ["v1", "Pod", ["spec", "tolerations"], { kind: "plain" }],
  ["v1", "Pod", ["spec", "nodeSelector"], { kind: "atomic" }],
  ["v1", "Pod", ["status", "podIPs"], { list: "keyed", keys: ["ip"] }],
  ["v1", "Pod", ["status", "hostIPs"], { list: "atomic", patch: { strategy: "merge", key: "ip" } }],
  ["v1", "Pod", ["status", "containerStatuses"], { kind: "plain" }],
  ["v1", "Pod", ["spec", "containers"], { items: { kind: "struct", type: { name: "core.Container" } } }],
  ["v1", "Pod", ["spec", "imagePullSecrets"], { items: { kind: "atomic" }, defaults: { name: "" } }],
  ["v1", "Pod", ["spec", "resources", "claims"], { list: "keyed", patch: { strategy: "replace" } }],
  ["v1", "Pod", ["spec", "overhead"], { kind: "map" }],
  ["v1", "Pod", ["metadata", "finalizers"], { list: "set", patch: { strategy: "merge", key: "" } }],
  ["v1", "Node", ["spec", "taints"], { kind: "plain" }],
  ["v1", "Node", ["status", "addresses"], { list: "keyed", keys: ["type"] }],
  ["v1", "ServiceAccount", ["secrets"], { list: "keyed", keys: ["name"] }],
  ["v1", "ServiceAccount", ["imagePullSecrets"], { kind: "plain" }],
  ["v1", "Event", ["involvedObject"], { kind: "atomic" }],
  ["v1", "Service", ["spec", "ports"], { keys: ["port", "protocol"], defaults: { protocol: "TCP" } }],
  [
    "storage.k8s.io/v1",
    "CSIDriver",
    ["spec", "volumeLifecycleModes"],
    { list: "set", patch: { strategy: "replace" } },
  ],
  ["events.k8s.io/v1", "Event", ["regarding"], { kind: "atomic" }],
  ["coordination.k8s.io/v1", "Lease", ["metadata", "labels"], { kind: "map" }],
  ["example.com/v1", "Unknown", ["metadata", "labels"], { kind: "map" }],
  ["example.com/v1", "Unknown", ["spec"], { kind: "plain" }],
];

for (const [apiVersion, kind, path, expected] of rules)
  test(`${kind} ${path.join(".")} is ${JSON.stringify(expected)}`, () => {
    const rule = path.reduce(fieldRule, schemaFor(apiVersion, kind).root);
    assert.partialDeepStrictEqual(rule, expected);
  });
