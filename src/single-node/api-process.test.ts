import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { sleep, systemClock } from "../lib/base/clock.ts";
import { ApiProcess } from "./api-process.ts";

const dir = mkdtempSync(join(tmpdir(), "api-process-"));
after(() => rmSync(dir, { recursive: true }));

function script(body: string): readonly string[] {
  return [process.execPath, "-e", body];
}

const serves =
  "process.stdin.resume().on('end', () => process.exit(0)); console.log('serving https://127.0.0.1:1');";

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(systemClock, 10);
}

function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}

test("the API server is restarted when it exits, but not after stop", async () => {
  const api = new ApiProcess({ program: script(serves), args: [], log: join(dir, "a.log") });
  assert.equal(await api.start(), "https://127.0.0.1:1");
  const first = api.pid!;
  process.kill(first, "SIGKILL");
  await until(() => api.pid !== first && api.pid !== undefined && isAlive(api.pid));
  const second = api.pid!;
  await api.stop();
  assert.equal(isAlive(second), false);
});

test("a process that exits before it serves is an error with its last output", async () => {
  const api = new ApiProcess({
    program: script("console.error('the database is locked'); process.exit(3)"),
    args: [],
    log: join(dir, "b.log"),
  });
  await assert.rejects(api.start(), /exited \(3\) before it was ready: the database is locked/);
});

test("a process that never serves is killed after the timeout", async () => {
  const api = new ApiProcess({
    program: script("setInterval(() => {}, 1000)"),
    args: [],
    log: join(dir, "c.log"),
    timeoutMs: 300,
  });
  await assert.rejects(api.start(), /is not responding/);
  assert.equal(isAlive(api.pid!), false);
});

test("aborting a start kills the process", async () => {
  const api = new ApiProcess({
    program: script("setInterval(() => {}, 1000)"),
    args: [],
    log: join(dir, "d.log"),
  });
  const given = new AbortController();
  const started = api.start(given.signal);
  await until(() => api.pid !== undefined);
  given.abort();
  await assert.rejects(started, { name: "AbortError" });
  assert.equal(isAlive(api.pid!), false);
});
