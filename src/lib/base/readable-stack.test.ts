import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readableStack } from "./readable-stack.ts";

/** Line 1: from column 1 a.ts:1:1, from column 10 a.ts:2:5. */
const map = { version: 3, sources: ["../src/part/a.ts"], mappings: "AAAA,SACI" };

function withStack(stack: string | undefined): Error {
  const error = new TypeError("broken");
  Object.assign(error, { stack });
  return error;
}

test("positions in a bundle are mapped to the sources; all others are unchanged", (t) => {
  const dir = mkdtempSync(join(tmpdir(), "stack-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, "agent.cjs.map"), JSON.stringify(map));
  writeFileSync(join(dir, "corrupt.cjs.map"), "{");
  const stack = (first: string, second: string) =>
    [
      "TypeError: broken",
      `    at start (${first})`,
      `    at async ${second}`,
      "    at node:internal/timers:1:2",
      `    at other (${dir}/unknown.cjs:1:10)`,
      `    at other (${dir}/corrupt.cjs:1:10)`,
      `    at nowhere (${dir}/agent.cjs:7:1)`,
    ].join("\n");
  assert.equal(
    readableStack(withStack(stack(`${dir}/agent.cjs:1:1`, `file://${dir}/agent.cjs:1:12`))),
    stack("src/part/a.ts:1:1", "src/part/a.ts:2:5"),
  );
});

test("an error without a stack is its name and message", () => {
  assert.equal(readableStack(withStack(undefined)), "TypeError: broken");
});
