import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonDiff } from "./spec-diff.ts";

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

test("without a difference there is no message", () => {
  assert.equal(jsonDiff({ a: 1, b: 2 }, { b: 2, a: 1 }), "");
});

test("distant changes have separate hunks, near ones share one", () => {
  const change = (...at: number[]) => numbers(20).map((n) => (at.includes(n) ? n + 100 : n));
  const hunks = (diff: string) => diff.match(/^@@.*@@$/gm);
  assert.deepEqual(hunks(jsonDiff(numbers(20), change(2, 17))), ["@@ -1,7 +1,7 @@", "@@ -16,7 +16,7 @@"]);
  assert.deepEqual(hunks(jsonDiff(numbers(20), change(5, 9))), ["@@ -4,11 +4,11 @@"]);
});

test("additions and removals are counted on their own sides", () => {
  assert.equal(
    jsonDiff({ a: 1, b: 2, d: 4 }, { a: 1, c: 3, d: 4 }),
    '@@ -1,5 +1,5 @@\n {\n  "a": 1,\n- "b": 2,\n+ "c": 3,\n  "d": 4\n }\n',
  );
  assert.equal(jsonDiff(undefined, { a: 1 }), '@@ -1 +1,3 @@\n-null\n+{\n+ "a": 1\n+}\n');
});

test("values that differ in very many lines are shown as a whole", () => {
  const count = 100_000;
  const diff = jsonDiff(
    numbers(count),
    numbers(count).map((n) => n + count),
  );
  assert.match(diff, /^@@ -1,100002 \+1,100002 @@\n \[\n- 0,\n- 1,\n/);
  assert.equal(diff.match(/^[-+]/gm)?.length, 2 * count);
});
