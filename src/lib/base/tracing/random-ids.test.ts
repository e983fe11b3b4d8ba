import assert from "node:assert/strict";
import { test } from "node:test";
import { randomIds } from "./tracer.ts";

test("IDs have their length and are unique, even past the end of a pool", () => {
  const next = randomIds();
  const ids = Array.from({ length: 3000 }, (_, i) => next(i % 2 === 0 ? 16 : 8));
  assert.ok(ids.every((id, i) => (i % 2 === 0 ? /^[0-9a-f]{32}$/ : /^[0-9a-f]{16}$/).test(id)));
  assert.equal(new Set(ids).size, ids.length);
});
