import assert from "node:assert/strict";
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { FakeClock } from "../lib/base/fake-clock.ts";
import { silentLogger } from "../lib/base/logger.ts";
import { libc } from "../lib/host/libc.ts";
import { lockedBy } from "./lock-contention.ts";

function setUp(t: TestContext) {
  const dir = mkdtempSync(join(tmpdir(), "lock-"));
  const stop = new AbortController();
  t.after(() => {
    stop.abort();
    rmSync(dir, { recursive: true });
  });
  const clock = new FakeClock();
  const parts = { logger: silentLogger, clock, signal: stop.signal };
  return { path: join(dir, "lock"), clock, parts };
}

// parity: flag lock-file
test("without a lock file nothing is locked; a lock file that cannot be created is an error", async (t) => {
  const { path, parts } = setUp(t);
  const lock = await lockedBy({ lockFile: "", exitOnLockContention: false }, parts);
  assert.equal(lock.isContended(), false);
  const inNoDirectory = lockedBy({ lockFile: `${path}/none/lock`, exitOnLockContention: false }, parts);
  await assert.rejects(
    inNoDirectory,
    /^KubeletError: unable to acquire file lock on ".*\/none\/lock": ENOENT/,
  );
});

test("the start waits until another process has released the lock", async (t) => {
  const { path, clock, parts } = setUp(t);
  const { flock } = await libc();
  const other = openSync(path, "w+");
  assert.ok(flock(other));
  let isLocked = false;
  const locked = lockedBy({ lockFile: path, exitOnLockContention: false }, parts).then(() => {
    isLocked = true;
  });
  await clock.advance(10_000);
  assert.equal(isLocked, false);
  closeSync(other);
  await clock.advance(100);
  await locked;
});

// parity: flag exit-on-lock-contention
test("a process that opens the lock file contends for it", async (t) => {
  const { path, clock, parts } = setUp(t);
  const lock = await lockedBy({ lockFile: path, exitOnLockContention: true }, parts);
  await clock.advance(5000);
  assert.equal(lock.isContended(), false);
  closeSync(openSync(path, "r"));
  await clock.advance(1000);
  await lock.contention;
  assert.equal(lock.isContended(), true);
});

test("contention needs a lock file", async (t) => {
  const { parts } = setUp(t);
  await assert.rejects(lockedBy({ lockFile: "", exitOnLockContention: true }, parts), {
    message: "cannot exit on lock file contention: no lock file specified",
  });
});
