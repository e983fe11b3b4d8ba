import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const text = readFileSync(new URL("agent.ts", import.meta.url), "utf8");

test("the composition root decides nothing by whether there is a cluster", () => {
  assert.doesNotMatch(text, /cluster\?\.|view\?\./, "without a cluster its components do not exist");
});
