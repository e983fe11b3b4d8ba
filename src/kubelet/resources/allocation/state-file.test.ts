import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { silentLogger } from "../../../lib/base/logger.ts";
import type { PodUid } from "../../../lib/model/pod.ts";
import { decodeCheckpoint } from "./checkpoint.ts";
import { PodResourceFile } from "./state-file.ts";

const uid = (text: string) => text as PodUid;
const nothing = { containers: new Map() };

test("values set at any point of a write are in the file", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "state-file-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const missing: number[] = [];
  for (let turns = 0; turns < 10; turns++) {
    const path = join(dir, `${turns}`);
    const file = new PodResourceFile(path, silentLogger);
    file.set(uid("a"), nothing);
    await file.flushed();
    // The same again: a write that ends within a few ticks.
    file.set(uid("a"), nothing);
    for (let i = 0; i < turns; i++) await Promise.resolve();
    file.set(uid("b"), nothing);
    await file.flushed();
    if (!decodeCheckpoint(readFileSync(path, "utf8")).has(uid("b"))) missing.push(turns);
  }
  assert.deepEqual(missing, []);
});

test("a write that failed is repeated by the next housekeeping, and logged as an error once", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "state-file-"));
  t.after(() => rmSync(dir, { recursive: true }));
  // A directory at the path of the file: it cannot be replaced.
  const path = join(dir, "state");
  mkdirSync(join(path, "in the way"), { recursive: true });
  const errors: string[] = [];
  const logger = { ...silentLogger, error: (message: string) => void errors.push(message) };
  const file = new PodResourceFile(path, logger);
  file.set(uid("a"), nothing);
  assert.equal(await file.flushed(), false);
  file.keepOnly(() => true);
  assert.equal(await file.flushed(), false);
  assert.equal(errors.length, 1);
  rmSync(path, { recursive: true });
  file.keepOnly(() => true);
  assert.equal(await file.flushed(), true);
  assert.ok(decodeCheckpoint(readFileSync(path, "utf8")).has(uid("a")));
});
