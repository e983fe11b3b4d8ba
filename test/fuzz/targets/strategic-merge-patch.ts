import assert from "node:assert/strict";
import { type Json, type JsonObject, jsonEqual } from "../../../src/apiserver/patch/json-value.ts";
import { schemaFor } from "../../../src/apiserver/patch/schema.ts";
import { strategicMergePatch } from "../../../src/apiserver/patch/strategic-merge.ts";
import { accepted, assertSize, jsonOf } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

const schema = schemaFor("v1", "Pod");
const live: JsonObject = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "a", labels: { a: "1" }, finalizers: ["a/b", "c/d"] },
  spec: {
    containers: [
      { name: "a", image: "b", env: [{ name: "x", value: "1" }], ports: [{ containerPort: 80 }] },
      { name: "c", image: "d" },
    ],
    tolerations: [{ key: "a", operator: "Exists" }],
  },
};

export default {
  seeds: [
    '{"spec":{"containers":[{"name":"a","image":"new","env":[{"name":"x","$patch":"delete"}]}]}}',
    '{"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"a"}],"containers":[{"name":"a","image":"x"}]}}',
    '{"metadata":{"$deleteFromPrimitiveList/finalizers":["a/b"],"$retainKeys":["name"]}}',
    '{"$patch":"replace","kind":"Pod","spec":{"$patch":"delete"}}',
    '{"spec":{"containers":[{"$patch":"replace"},{"name":"z"}],"volumes":[{"name":"v","$retainKeys":["name","emptyDir"],"emptyDir":{}}]}}',
  ],
  dictionary: [
    "$setElementOrder/",
    "$deleteFromPrimitiveList/",
    "$retainKeys",
    "$patch",
    "__proto__",
    '{"name":"a"}',
    "null",
  ],
  maxLength: 800,
  run(input) {
    const patch = jsonOf(input.toString("utf8")) as Json | undefined;
    if (patch === undefined) return;
    const before = JSON.stringify([live, patch]);
    const patched = accepted(() => strategicMergePatch(live, patch, schema));
    assert.equal(JSON.stringify([live, patch]), before, "the inputs were modified");
    if (!patched) return;
    assertSize(patched, 2000 + 4 * input.length, "the patched object");
    // A plain patch changes nothing when it is applied again. A patch with directives may.
    if (before.includes("$")) return;
    const again = accepted(() => strategicMergePatch(patched, patch, schema));
    // As in the reference, a new list is added as it is, and only items that are merged need the key that identifies them.
    if (again) assert.ok(jsonEqual(again, patched));
  },
} satisfies FuzzTarget;
