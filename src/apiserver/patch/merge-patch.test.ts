import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Json, JsonObject } from "./json-value.ts";
import { mergePatch } from "./merge-patch.ts";

const table: [string, JsonObject, Json, JsonObject][] = [
  ["a field is replaced", { a: "b" }, { a: "c" }, { a: "c" }],
  ["a field is added", { a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  ["null removes", { a: "b", b: "c" }, { a: null }, { b: "c" }],
  ["a list is replaced", { a: ["b"] }, { a: "c" }, { a: "c" }],
  ["a list replaces", { a: "c" }, { a: ["b"] }, { a: ["b"] }],
  ["objects merge", { a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  ["items of lists do not merge", { a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  ["nulls in new objects are dropped", {}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ["an object replaces a value", { a: "x" }, { a: { b: 1 } }, { a: { b: 1 } }],
];

for (const [rule, original, patch, expected] of table)
  test(rule, () => {
    const before = structuredClone(original);
    assert.deepEqual(mergePatch(original, patch), expected);
    assert.deepEqual(original, before);
  });

test("only an object is a merge patch", () => {
  for (const patch of [[], "x", 1, null]) assert.throws(() => mergePatch({}, patch), { code: "BadRequest" });
});

test("a prototype cannot be patched", () => {
  const out = mergePatch({}, JSON.parse('{"__proto__":{"polluted":1}}') as Json);
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
  assert.equal(JSON.stringify(out), '{"__proto__":{"polluted":1}}');
});

test("patching twice is the same as once", () => {
  const anyObject = fc.dictionary(fc.constantFrom("a", "b", "c"), fc.jsonValue({ maxDepth: 3 }));
  fc.assert(
    fc.property(anyObject, anyObject, (original, patch) => {
      const once = mergePatch(original as JsonObject, patch as JsonObject);
      assert.deepEqual(mergePatch(once, patch as JsonObject), once);
    }),
    { numRuns: 300 },
  );
});
