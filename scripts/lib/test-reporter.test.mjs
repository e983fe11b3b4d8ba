import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

for (const [ending, message] of [
  [
    'process.kill(process.pid, "SIGKILL")',
    /✖ \S+ended\.test\.mjs:1 .*\n +test failed: its process was killed by SIGKILL\n/,
  ],
  ["process.exit(7)", /test failed: its process exited with status 7\n/],
]) {
  test(`a test file whose process ends by ${ending} is reported with its exit status`, (t) => {
    const dir = mkdtempSync(join(tmpdir(), "reporter-"));
    t.after(() => rmSync(dir, { recursive: true }));
    writeFileSync(join(dir, "ended.test.mjs"), `${ending};`);
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const reporter = new URL("./test-reporter.mjs", import.meta.url).pathname;
    const args = ["--test", `--test-reporter=${reporter}`, join(dir, "ended.test.mjs")];
    const { stdout } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
    assert.match(stdout, message);
  });
}
