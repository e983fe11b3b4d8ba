import assert from "node:assert/strict";
import { jsonPatch } from "../../../src/apiserver/patch/json-patch.ts";
import {
  cloneJson,
  isObject,
  type Json,
  type JsonObject,
  jsonEqual,
} from "../../../src/apiserver/patch/json-value.ts";
import { mergePatch } from "../../../src/apiserver/patch/merge-patch.ts";
import { mergePatch as dropIn } from "../../../src/lib/config/drop-ins.ts";
import { accepted, assertSize, jsonOf } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

const live: JsonObject = {
  metadata: { name: "a", labels: { "a/b": "1", "c~d": "2" } },
  spec: { list: [1, { x: [2, 3] }, null], text: "t" },
};

/** JSON Patch, and JSON Merge Patch. */
export default {
  seeds: [
    '[{"op":"add","path":"/spec/list/-","value":4},{"op":"test","path":"/metadata/name","value":"a"}]',
    '[{"op":"copy","from":"/spec","path":"/copy"},{"op":"move","from":"/spec/list/0","path":"/spec/list/-"}]',
    '[{"op":"remove","path":"/metadata/labels/a~1b"},{"op":"replace","path":"/spec/text","value":null}]',
    '[{"op":"replace","path":"","value":{"__proto__":{"a":1}}},{"op":"add","path":"/__proto__/b","value":1}]',
    '{"metadata":{"labels":null,"__proto__":{"x":1}},"spec":{"list":[]}}',
    '[{"op":"copy","from":"/spec/list","path":"/spec/list/-"},{"op":"copy","from":"/spec/list","path":"/spec/list/-"},{"op":"copy","from":"/spec/list","path":"/spec/list/-"}]',
  ],
  dictionary: [
    '{"op":"copy","from":"","path":"/a"},',
    "/-",
    "/-1",
    "/0",
    "/constructor/prototype",
    "/__proto__",
    "~0",
    "~1",
  ],
  maxLength: 800,
  run(input) {
    const patch = jsonOf(input.toString("utf8")) as Json | undefined;
    if (patch === undefined) return;
    const before = JSON.stringify([live, patch]);
    const patched = accepted(() => jsonPatch(live, patch));
    if (patched) {
      // Copies of copies double: limited by the API server, to three times the largest body of a request.
      assertSize(patched, 10_000_000, "the patched object");
      assert.ok(isObject(patched));
      assert.deepEqual(jsonPatch(live, patch), patched);
    }
    const merged = accepted(() => mergePatch(live, patch));
    if (merged) {
      assertSize(merged, 1000 + 2 * input.length, "the merged object");
      assert.ok(jsonEqual(mergePatch(merged, patch), merged), "a merge patch that is applied twice");
      if (!/__proto__/.test(before)) assert.deepEqual(dropIn(live, patch), merged);
    }
    assert.equal(JSON.stringify([live, patch]), before, "the inputs were modified");
    assert.ok(jsonEqual(cloneJson(patch), patch));
  },
} satisfies FuzzTarget;
