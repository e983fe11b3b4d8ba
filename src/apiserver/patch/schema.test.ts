import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldRule, schemaFor } from "./schema.ts";
import { kindTypes, typeRules } from "./schema-table.ts";

test("every type that the table names is in it", () => {
  const used = new Set(Object.values(kindTypes));
  for (const rules of Object.values(typeRules))
    for (const rule of Object.values(rules)) {
      if (rule.kind === "struct") used.add(rule.type);
      if (rule.kind === "list" && rule.items.kind === "struct") used.add(rule.items.type);
    }
  assert.deepEqual(
    [...used].filter((type) => !Object.hasOwn(typeRules, type)),
    [],
  );
  assert.deepEqual(
    Object.keys(typeRules).filter((type) => !used.has(type)),
    [],
  );
});

const rules: [string, string, string[], object][] = [
  ["v1", "Pod", ["spec", "containers"], { list: "keyed", keys: ["name"] }],
  ["v1", "Pod", ["spec", "tolerations"], { kind: "plain" }],
  ["v1", "Pod", ["spec", "nodeSelector"], { kind: "atomic" }],
  ["v1", "Pod", ["status", "podIPs"], { list: "keyed", keys: ["ip"] }],
  ["v1", "Pod", ["status", "hostIPs"], { list: "atomic", patch: { strategy: "merge", key: "ip" } }],
  ["v1", "Pod", ["status", "containerStatuses"], { kind: "plain" }],
  ["v1", "Pod", ["metadata", "finalizers"], { list: "set", patch: { strategy: "merge", key: "" } }],
  ["v1", "Node", ["spec", "taints"], { kind: "plain" }],
  ["v1", "Node", ["status", "addresses"], { list: "keyed", keys: ["type"] }],
  ["v1", "ServiceAccount", ["secrets"], { list: "keyed", keys: ["name"] }],
  ["v1", "ServiceAccount", ["imagePullSecrets"], { kind: "plain" }],
  ["v1", "Event", ["involvedObject"], { kind: "atomic" }],
  ["coordination.k8s.io/v1", "Lease", ["metadata", "labels"], { kind: "map" }],
  ["example.com/v1", "Unknown", ["metadata", "labels"], { kind: "map" }],
  ["example.com/v1", "Unknown", ["spec"], { kind: "plain" }],
];

for (const [apiVersion, kind, path, expected] of rules)
  test(`${kind} ${path.join(".")} is ${JSON.stringify(expected)}`, () => {
    const rule = path.reduce(fieldRule, schemaFor(apiVersion, kind).root);
    assert.partialDeepStrictEqual(rule, expected);
  });
