import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { root } from "./node-packages.mjs";
import { checkRegExps, slowRegExps, unusedExceptions } from "./regexp-rule.mjs";

const read = (file) => readFileSync(`${root}${file}`, "utf8");

test("every regular expression of the sources takes linear time", () => {
  const files = globSync("src/**/*.{ts,tsx}", { cwd: root, exclude: ["src/lib/gen/**"] });
  const problems = files
    .filter((file) => !/\.test\.ts$|fixtures\.ts$|\/fake-/.test(file))
    .flatMap((file) => checkRegExps(file, read(file)));
  assert.deepEqual(problems, []);
});

test("an exception that is no longer needed is removed", () => assert.deepEqual(unusedExceptions(read), []));

const rows = [
  ["/^(a+)+$/", true],
  ["/a*a*b/", true],
  ["/\\/+$/", true],
  ["/^\\s*(\\d*)\\s*-/", true],
  ["/^\\/+/", false],
  ["/^[a-z]+:\\d+$/", false],
];
for (const [pattern, slow] of rows)
  test(`${pattern} is ${slow ? "not linear" : "linear"}`, () =>
    assert.equal(slowRegExps(`const a = ${pattern};`).length, slow ? 1 : 0));
