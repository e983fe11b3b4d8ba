import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { sameJson } from "./json-value.ts";

const same: [unknown, unknown][] = [
  [
    { a: 1, b: [{ c: "x" }] },
    { b: [{ c: "x" }], a: 1 },
  ],
  [{ a: undefined }, {}],
  [{}, { a: undefined }],
  [[], []],
  [null, null],
];
const different: [unknown, unknown][] = [
  [{ a: 1 }, { a: 2 }],
  [{ a: 1 }, { a: 1, b: null }],
  [{ a: 1, b: 0 }, { a: 1 }],
  [
    { a: undefined, b: 1 },
    { a: 1, b: undefined },
  ],
  [[1, 2], [1]],
  [[], {}],
  [{}, null],
  ["1", 1],
  [{ constructor: "x" }, {}],
  [{}, { toString: "x" }],
];

test("values have the same JSON if their fields have", () => {
  for (const [a, b] of same) assert.ok(sameJson(a, b), JSON.stringify([a, b]));
  for (const [a, b] of different) assert.ok(!sameJson(a, b), JSON.stringify([a, b]));
});

test("any two JSON values are the same if their parsed texts are equal", () => {
  const value = fc.letrec((tie) => ({
    any: fc.oneof(fc.constantFrom(null, 0, 1, "", "x", true), tie("list"), tie("object")),
    list: fc.array(tie("any"), { maxLength: 2 }),
    object: fc.dictionary(fc.constantFrom("a", "b", "constructor"), tie("any"), { maxKeys: 2 }),
  })).any;
  const parsed = (v: unknown) => JSON.parse(JSON.stringify(v));
  fc.assert(
    fc.property(value, value, (a, b) => {
      assert.equal(sameJson(a, b), isDeepStrictEqual(parsed(a), parsed(b)));
      assert.ok(sameJson(a, parsed(a)));
    }),
  );
});
