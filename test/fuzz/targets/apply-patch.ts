import assert from "node:assert/strict";
import { apply } from "../../../src/apiserver/patch/apply.ts";
import { isObject, type Json, type JsonObject, jsonEqual } from "../../../src/apiserver/patch/json-value.ts";
import { decodeManagers, managedFieldsOf } from "../../../src/apiserver/patch/managed-fields.ts";
import { schemaFor } from "../../../src/apiserver/patch/schema.ts";
import { accepted, assertSize, jsonOf, partsOf } from "../rules.ts";
import type { FuzzTarget } from "../target.ts";

const schema = schemaFor("v1", "Pod");
const head = '"apiVersion":"v1","kind":"Pod"';

/** Server-side apply: the applied object, and the live one (after a line "---"), each in JSON. */
export default {
  seeds: [
    `{${head},"metadata":{"name":"a","labels":{"a":"1"}},"spec":{"containers":[{"name":"a","image":"b"}]}}`,
    `{${head},"spec":{"containers":[{"name":"a","ports":[{"containerPort":80}]}]}}\n---\n{${head},"metadata":{"managedFields":[{"manager":"x","operation":"Apply","apiVersion":"v1","fieldsV1":{"f:spec":{"f:containers":{"k:{\\"name\\":\\"a\\"}":{".":{},"f:image":{}}}}}}]},"spec":{"containers":[{"name":"a","image":"b"},{"name":"c"}]}}`,
    `{${head},"metadata":{"finalizers":["a","b"]}}\n---\n{${head},"metadata":{"finalizers":["c","a"],"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}}}`,
  ],
  dictionary: [
    '"managedFields":[',
    '"fieldsV1":{',
    '"k:{\\"name\\":\\"a\\"}":{',
    '"v:\\"a\\"":{}',
    '".":{}',
    "__proto__",
    '"f:__proto__":{}',
  ],
  maxLength: 1500,
  run(input) {
    const [first = "", second] = partsOf(input);
    const applied = jsonOf(first) as Json | undefined;
    const live = second === undefined ? undefined : (jsonOf(second) as Json | undefined);
    if (!isObject(applied) || (live !== undefined && !isObject(live))) return;
    const before = JSON.stringify([applied, live]);
    for (const force of [false, true]) {
      const options = { schema, manager: "kubectl", now: 0, force };
      const result = accepted(() => apply(live, applied, options));
      assert.equal(JSON.stringify([applied, live]), before, "the inputs were modified");
      if (!result) continue;
      assertSize(result, 5000 + 20 * input.length, "the result");
      // Who applies only empty lists owns nothing: as without managedFields, "before-first-apply" owns them the next time.
      if (decodeManagers(managedFieldsOf(result)).size === 0) continue;
      // The same object once more changes nothing.
      const again = apply(result, applied, options);
      assert.ok(jsonEqual(stored(again), stored(result)), "applied twice");
    }
  },
} satisfies FuzzTarget;

const stored = (object: JsonObject): JsonObject => JSON.parse(JSON.stringify(object)) as JsonObject;
