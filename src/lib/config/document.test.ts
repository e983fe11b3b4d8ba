import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { assertGrowth } from "../../../test/growth.ts";
import { parseDocument } from "./document.ts";
import { formatConfigProblem } from "./problems.ts";

test("YAML and JSON give the same data", () => {
  const yaml = parseDocument("a: 1\nb:\n  - x\n  - {c: true}\n", "f");
  const json = parseDocument('{\n\t"a": 1,\n\t"b": ["x", {"c": true}]\n}\n', "f");
  assert.deepEqual(yaml.problems, []);
  assert.deepEqual(json.problems, []);
  assert.deepEqual(yaml.value, { a: 1, b: ["x", { c: true }] });
  assert.deepEqual(json.value, yaml.value);
});

test("every field has its line, and an unknown one that of its parent", () => {
  const { origins } = parseDocument("# a comment\na:\n  memory.available: 1\nlist:\n- x\n- y\n", "/f");
  assert.equal(origins.find(["a"]), "/f:2");
  assert.equal(origins.find(["a", "memory.available"]), "/f:3");
  assert.equal(origins.find(["a", "other"]), "/f:2");
  assert.equal(origins.find(["list", 1]), "/f:6");
  assert.equal(origins.find(["nowhere"]), undefined);
});

test("yes, no, on and off are booleans, and remain names as keys", () => {
  const { value } = parseDocument('a: yes\nb: off\nc: "yes"\non: 1\n', "f");
  assert.deepEqual(value, { a: true, b: false, c: "yes", on: 1 });
});

test("anchors, aliases and merge keys are followed", () => {
  const { value, problems } = parseDocument("a: &x {k: 1, l: 2}\nb: *x\nc:\n  <<: *x\n  k: 3\n", "f");
  assert.deepEqual(problems, []);
  assert.deepEqual(value, { a: { k: 1, l: 2 }, b: { k: 1, l: 2 }, c: { k: 3, l: 2 } });
});

test("a marker without a second document is fine", () => {
  assert.deepEqual(parseDocument("---\na: 1\n---\n", "f").problems, []);
});

const bad: [name: string, text: string, shown: RegExp][] = [
  ["an empty file", "", /^\/f: is empty$/],
  ["a file of comments", "# nothing\n", /^\/f: is empty$/],
  ["a duplicate key", "a: 1\nb: 2\na: 3\n", /^\/f:3: a: is specified more than once$/],
  ["a duplicate JSON key", '{"a": {"b": 1,\n"b": 2}}', /^\/f:2: a\.b: is specified more than once$/],
  ["broken YAML", "a: [1\nb: 2\n", /^\/f:\d: ./],
  ["two documents", "a: 1\n---\nb: 2\n", /^\/f:3: contains more than one document$/],
  ["an alias of nothing", "a: *nope\n", /^\/f:1: ./],
  ["an alias within itself", "a: &x\n  b: *x\n", /^\/f: anchor 'x' contains itself$/],
  ["a merge of a map into itself", "a: &x\n  <<: *x\n", /^\/f: anchor 'x' contains itself$/],
  ["a map as a key", "? {a: b}\n: c\n", /^\/f: invalid map key: a list or a map$/],
  ["many maps as keys of one another", "? ".repeat(300), /^\/f: invalid map key: a list or a map$/],
];
for (const [name, text, shown] of bad) {
  test(`${name} is a problem with its line`, () => {
    const [problem] = parseDocument(text, "/f").problems;
    assert.ok(problem);
    assert.match(formatConfigProblem(problem), shown);
  });
}

test("no text makes the reader throw", () => {
  const scrap = fc.constantFrom(
    "a",
    ":",
    " ",
    "\n",
    "-",
    "{",
    "}",
    "[",
    "]",
    "&x",
    "*x",
    "<<",
    '"',
    "'",
    "#",
    "!",
    "|",
    ",",
    "?",
    "\t",
    "\0",
    "é",
  );
  fc.assert(
    fc.property(fc.array(scrap, { maxLength: 30 }), (parts) => {
      const { value, problems } = parseDocument(parts.join(""), "f");
      assert.ok(value !== undefined || problems.length > 0);
    }),
    { numRuns: 500 },
  );
});

test("the time to read a file is proportional to the number of its aliases", () =>
  assertGrowth(1, 2000, (size) => {
    const text = `a: &a 1\nlist:\n${"- *a\n".repeat(size)}`;
    return () => parseDocument(text, "f");
  }));
