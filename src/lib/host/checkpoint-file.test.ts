import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { silentLogger } from "../base/logger.ts";
import { CheckpointFile } from "./checkpoint-file.ts";

test("text written at any point of an earlier write is in the file", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "checkpoint-"));
  t.after(() => rmSync(dir, { recursive: true }));
  for (let turns = 0; turns < 10; turns++) {
    const file = new CheckpointFile(join(dir, `${turns}`), silentLogger);
    file.write("a");
    await file.flushed();
    file.write("b");
    for (let i = 0; i < turns; i++) await Promise.resolve();
    file.write("c");
    await file.flushed();
    assert.equal(readFileSync(file.path, "utf8"), "c", `after ${turns} turns`);
    assert.equal(statSync(file.path).mode & 0o777, 0o600);
  }
});

for (const [rule, again] of [
  ["done with the next one", (file: CheckpointFile) => file.write("a")],
  ["repeated on request", (file: CheckpointFile) => file.retry()],
] as const)
  test(`a write that failed is ${rule}`, async (t) => {
    const dir = mkdtempSync(join(tmpdir(), "checkpoint-"));
    t.after(() => rmSync(dir, { recursive: true }));
    const file = new CheckpointFile(join(dir, "later", "state"), silentLogger);
    assert.equal(await file.read(), undefined);
    file.write("a");
    await file.flushed();
    mkdirSync(join(dir, "later"));
    again(file);
    await file.flushed();
    assert.equal(await file.read(), "a");
  });
