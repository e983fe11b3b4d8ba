import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decoded } from "./decode.ts";

describe("decoded", () => {
  test("leaves out what the kind does not have, and does not change what it is given", () => {
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

  test("gives back the very same object if there is nothing to leave out", () => {
    const pod = { metadata: { name: "a" }, spec: { containers: [{ name: "c" }] } };
    assert.equal(decoded("", "v1", "Pod", pod), pod);
  });

  test("keeps kinds that it does not know", () => {
    const thing = { bogus: 1 };
    assert.equal(decoded("apps", "v1", "Deployment", thing), thing);
  });

  const rows: [string, object, object][] = [
    ["null fields are left out", { spec: { nodeName: null } }, { spec: {} }],
    [
      "null values of maps are empty",
      { metadata: { labels: { a: null } } },
      { metadata: { labels: { a: "" } } },
    ],
    [
      "quantities have one spelling",
      { spec: { overhead: { cpu: "0.5", memory: 1024 } } },
      { spec: { overhead: { cpu: "500m", memory: "1024" } } },
    ],
    [
      "so have times",
      { metadata: { creationTimestamp: "2024-01-01T02:00:00+02:00" } },
      { metadata: { creationTimestamp: "2024-01-01T00:00:00Z" } },
    ],
    ["unknown fields are left out", { spec: { foo: 1 } }, { spec: {} }],
    [
      "what is not typed is kept",
      { metadata: { managedFields: [{ fieldsV1: { "f:x": null } }] } },
      { metadata: { managedFields: [{ fieldsV1: { "f:x": null } }] } },
    ],
  ];
  for (const [rule, value, expected] of rows)
    test(rule, () => assert.deepEqual(decoded("", "v1", "Pod", value), expected));
});
