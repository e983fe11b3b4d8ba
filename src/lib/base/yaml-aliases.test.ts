import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDocument } from "yaml";
import { checkAliases } from "./yaml-aliases.ts";

const pairs = (count: number) =>
  parseDocument(
    Array.from({ length: count }, (_, i) => `- k: &a${i} {b: *a${Math.max(0, i - 1)}}`).join("\n"),
  );

test("as many anchors and aliases are accepted as can be resolved in time", () => {
  checkAliases(pairs(1000));
  checkAliases(parseDocument(`- &a 1\n${"- *a\n".repeat(3000)}`));
  checkAliases(parseDocument(""));
});

test("more are rejected, wherever they are", () => {
  assert.throws(() => checkAliases(pairs(3000)), { message: "too many anchors and aliases: 3000 and 3000" });
  const keys = Array.from({ length: 3000 }, (_, i) => `- {&a${i} x: 1, *a${i} : 2}`).join("\n");
  assert.throws(() => checkAliases(parseDocument(keys)), {
    message: "too many anchors and aliases: 3000 and 3000",
  });
});
