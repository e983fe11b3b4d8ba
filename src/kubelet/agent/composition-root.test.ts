import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const text = readFileSync(new URL("agent.ts", import.meta.url), "utf8");

test("the composition root constructs, subscribes and starts in 150 lines, with or without a cluster", () => {
  assert.ok(text.trimEnd().split("\n").length <= 150);
  assert.doesNotMatch(text, /cluster\?\.|view\?\./, "without a cluster its components do not exist");
});
