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

test("every regular expression that modules build from strings takes linear time", async () => {
  const files = globSync("src/**/*.ts", { cwd: root, exclude: ["src/lib/gen/**", "src/console/page/**"] })
    .filter((file) => !/\.test\.ts$|fixtures\.ts$|\/fake-/.test(file))
    .filter((file) => /^(?:export )?const [^;]*\bnew RegExp\(/m.test(read(file)));
  const built = new Set();
  const { RegExp: original } = globalThis;
  globalThis.RegExp = new Proxy(original, {
    construct(target, args) {
      const made = Reflect.construct(target, args);
      built.add(String(made));
      return made;
    },
  });
  try {
    for (const file of files) await import(`${root}${file}`);
  } finally {
    globalThis.RegExp = original;
  }
  assert.ok(built.size >= 5, [...built].join("\n"));
  assert.deepEqual(
    [...built].filter((pattern) => slowRegExps(`const a = ${pattern};`).length > 0),
    [],
  );
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
