import assert from "node:assert/strict";
import { test } from "node:test";
import { type DiffRules, type Fields, strategicDiff } from "./strategic-diff.ts";

const merged: DiffRules = { mergeKeys: { list: "id" } };
const ordered: DiffRules = { ...merged, ordered: ["list"] };
const [one, two] = [
  { id: 1, v: "a" },
  { id: 2, v: "b" },
];

const rows: [rule: string, before: Fields, after: Fields, patch: Fields, rules?: DiffRules][] = [
  ["unchanged fields are omitted", { a: 1, b: { c: [1] } }, { a: 1, b: { c: [1] } }, {}],
  ["a new value", { a: 1 }, { a: 1, b: 2 }, { b: 2 }],
  ["a changed value", { a: 1 }, { a: 2 }, { a: 2 }],
  ["a removed value is null", { a: 1 }, {}, { a: null }],
  ["objects are compared field by field", { a: { b: 1, c: 1 } }, { a: { b: 1, c: 2 } }, { a: { c: 2 } }],
  ["the known fields of an emptied object are removed", { a: { b: 1 } }, { a: {} }, { a: { b: null } }],
  ["lists are replaced as a whole", { a: [1, 2] }, { a: [2] }, { a: [2] }],
  ["empty is the same as absent", { a: [], b: {}, c: "", d: null }, {}, {}],
  ["absent is the same as empty", {}, { a: [], b: {}, c: "", d: null }, {}],
  ["an empty object that is one", { a: null }, { a: {}, b: {} }, { a: {} }, { keepEmptyObject: ["a"] }],
  [
    "an empty object of an item",
    { l: [{}] },
    { l: [{ a: {} }] },
    { l: [{ a: {} }] },
    { keepEmptyObject: ["a"] },
  ],
  ["a removed empty object", { a: {} }, {}, { a: null }, { keepEmptyObject: ["a"] }],
  ["an emptied list is removed", { a: [1] }, { a: [] }, { a: null }],
  ["an empty string is not a value", { a: "x" }, { a: "" }, { a: null }],
  ["an empty text that is one", { a: "x" }, { a: "", b: "" }, { a: "", b: "" }, { keepEmptyText: true }],
  ["an empty text of a map", { a: {} }, { a: { b: "" } }, { a: { b: "" } }, { keepEmptyText: true }],
  [
    "a changed item of a merged list",
    { list: [one, two] },
    { list: [one, { id: 2, v: "c" }] },
    { "$setElementOrder/list": [{ id: 1 }, { id: 2 }], list: [{ id: 2, v: "c" }] },
    merged,
  ],
  [
    "a new and a removed item of a merged list",
    { list: [one] },
    { list: [two] },
    { "$setElementOrder/list": [{ id: 2 }], list: [two, { $patch: "delete", id: 1 }] },
    merged,
  ],
  [
    "the known items of an emptied merged list are removed",
    { list: [one] },
    { list: [] },
    { "$setElementOrder/list": [], list: [{ $patch: "delete", id: 1 }] },
    merged,
  ],
  ["a list whose order does not matter", { list: [one, two] }, { list: [two, one] }, {}, merged],
  [
    "a list whose order matters",
    { list: [one, two] },
    { list: [two, one] },
    { "$setElementOrder/list": [{ id: 2 }, { id: 1 }] },
    ordered,
  ],
];
for (const [rule, before, after, patch, rules] of rows)
  test(`strategic diff: ${rule}`, () => assert.deepEqual(strategicDiff(before, after, rules), patch));
