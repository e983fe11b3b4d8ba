import assert from "node:assert/strict";
import { test } from "node:test";
import { duplicateFields } from "./duplicate-fields.ts";

const rows: [string, string, string[]][] = [
  ["no duplicates", '{"a": {"b": 1}, "b": [{"a": 1}, {"a": 2}]}', []],
  ["at the top level", '{"a": 1, "b": 2, "a": 3}', ["a"]],
  [
    "below lists and objects",
    '{"spec":{"containers":[{"name":"x"},{"name":"a","name":"b"}]}}',
    ["spec.containers[1].name"],
  ],
  ["a field that is set three times is reported once", '{"a":1,"a":2,"a":3}', ["a"]],
  ["after nested values", '{"a":{"x":[1,[2,3],{}]},"b":"{\\"a\\":","a":1}', ["a"]],
  ["escaped names are the same", '{"name":1,"n\\u0061me":2}', ["name"]],
  ["strings that look like fields", '{"a":["b","b"],"c":"b"}', []],
  ["lists of lists", '[[{"a":1}],[{"a":1,"a":2}]]', ["[1][0].a"]],
  ["broken text", '{"a": 1, "a": ', ["a"]],
  ["empty text", "", []],
];

for (const [rule, text, expected] of rows)
  test(rule, () => assert.deepEqual(duplicateFields(text), expected));

test("deep nesting does not overflow the stack", () => {
  const depth = 50_000;
  assert.deepEqual(duplicateFields(`${"[".repeat(depth)}${"]".repeat(depth)}`), []);
});

test("at most 100 duplicates are reported", () => {
  const text = JSON.stringify(Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`k${i}`, 1])));
  assert.equal(duplicateFields(`[${text.slice(0, -1)},${text.slice(1)}]`).length, 100);
});
