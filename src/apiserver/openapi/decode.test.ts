import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decoded } from "./decode.ts";

describe("decoded", () => {
  test("drops unknown fields, and does not modify its argument", () => {
    const pod = {
      metadata: { name: "a", labels: { any: "thing" }, bogus: 1 },
      spec: { containers: [{ name: "c", foo: 1 }] },
    };
    assert.deepEqual(decoded("", "v1", "Pod", pod), {
      metadata: { name: "a", labels: { any: "thing" } },
      spec: { containers: [{ name: "c" }] },
    });
    assert.equal(pod.metadata.bogus, 1);
  });

  test("returns the same object if there is nothing to drop", () => {
    const pod = { metadata: { name: "a" }, spec: { containers: [{ name: "c" }] } };
    assert.equal(decoded("", "v1", "Pod", pod), pod);
  });

  test("does not change objects of unknown kinds", () => {
    const thing = { bogus: 1 };
    assert.equal(decoded("apps", "v1", "Deployment", thing), thing);
  });

  const rows: [string, object, object][] = [
    ["null fields are dropped", { spec: { nodeName: null } }, { spec: {} }],
    [
      "null values of maps become empty values",
      { metadata: { labels: { a: null } } },
      { metadata: { labels: { a: "" } } },
    ],
    [
      "quantities are in canonical form",
      { spec: { overhead: { cpu: "0.5", memory: 1024 } } },
      { spec: { overhead: { cpu: "500m", memory: "1024" } } },
    ],
    [
      "times are in canonical form",
      { metadata: { creationTimestamp: "2024-01-01T02:00:00+02:00" } },
      { metadata: { creationTimestamp: "2024-01-01T00:00:00Z" } },
    ],
    ["unknown fields are dropped", { spec: { foo: 1 } }, { spec: {} }],
    [
      "untyped values are kept",
      { metadata: { managedFields: [{ fieldsV1: { "f:x": null } }] } },
      { metadata: { managedFields: [{ fieldsV1: { "f:x": null } }] } },
    ],
  ];
  for (const [rule, value, expected] of rows)
    test(rule, () => assert.deepEqual(decoded("", "v1", "Pod", value), expected));
});
