import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isSwapOn } from "./swap.ts";

const titles = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n";
for (const [rule, content, isOn] of [
  ["a kernel without the list of swap devices does not swap", undefined, false],
  ["an empty list of swap devices is none", titles, false],
  ["one swap device is enough", `${titles}/swapfile file\t\t2097148\t\t0\t\t-2\n`, true],
] as const)
  test(rule, async (t) => {
    const dir = mkdtempSync(join(tmpdir(), "swaps-"));
    t.after(() => rmSync(dir, { recursive: true }));
    const file = join(dir, "swaps");
    if (content !== undefined) writeFileSync(file, content);
    assert.equal(await isSwapOn(file), isOn);
  });

test("a list of swap devices that cannot be read is an error", () =>
  assert.rejects(isSwapOn(tmpdir()), { code: "EISDIR" }));
