import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDocument } from "yaml";
import { checkConversion } from "./yaml-conversion.ts";

const pairs = (count: number) =>
  parseDocument(
    `- &a 1\n${Array.from({ length: count - 1 }, (_, i) => `- k: &a${i} {b: *a${i === 0 ? "" : i - 1}}`).join("\n")}`,
  );

test("as many anchors and aliases are accepted as can be resolved in time", () => {
  checkConversion(pairs(1000));
  checkConversion(parseDocument(`- &a 1\n${"- *a\n".repeat(3000)}`));
  checkConversion(parseDocument(""));
});

test("more are rejected, wherever they are", () => {
  assert.throws(() => checkConversion(pairs(3000)), {
    message: "too many anchors and aliases: 3000 and 2999",
  });
  const keys = Array.from({ length: 3000 }, (_, i) => `- {&a${i} x: 1, *a${i} : 2}`).join("\n");
  assert.throws(() => checkConversion(parseDocument(keys)), {
    message: "too many anchors and aliases: 3000 and 3000",
  });
});

for (const [name, text] of [
  ["a map", "? {b: c}\n: d"],
  ["a list", "? [b]\n: d"],
  ["an alias of a map", "a: &a {b: c}\nd: {*a : e}"],
  ["within a list", "- ? - a\n  : b"],
  ["many maps in one another", "? ".repeat(300)],
] as const)
  test(`${name} as a key is rejected`, () => {
    assert.throws(() => checkConversion(parseDocument(text)), {
      message: "invalid map key: a list or a map",
    });
  });

test("scalars, aliases of scalars and the merge key are keys", () => {
  checkConversion(parseDocument("&a 1: b\nc: {*a : d}\n<<: &m {e: f}\n~: g\n? h\n"));
});

for (const [name, text] of [
  ["a list", "a: &x [*x]"],
  ["a map", "&x {a: {b: *x}}"],
  ["a map that it is merged into", "a: &x {<<: *x}"],
  ["an anchor of two", "a: &x 1\nb: &x {c: [*x]}"],
] as const)
  test(`an alias within ${name} that it refers to is rejected`, () => {
    assert.throws(() => checkConversion(parseDocument(text)), { message: "anchor 'x' contains itself" });
  });

test("aliases of other collections are accepted, whatever the collections contain", () => {
  checkConversion(
    parseDocument("a: &x {b: 1}\nc: {d: *x, e: &x [2]}\nf: [*x, &x {g: *x}]".replace("{g: *x}", "{g: 3}")),
  );
});
