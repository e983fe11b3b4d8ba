import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileLogger } from "./local-agent.ts";

function testDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), "local-agent-"));
  t.after(() => rmSync(dir, { recursive: true }));
  return dir;
}

test("a line is in the log of a local node when it is logged", (t) => {
  const { logger, path } = fileLogger(testDir(t));
  logger.info("First");
  logger.info("Second");
  assert.match(readFileSync(path, "utf8"), /^I.*"First"\nI.*"Second"\n$/);
});

test("a log of a local node on a full disk does not end the process", (t) => {
  const dir = testDir(t);
  symlinkSync("/dev/full", join(dir, "kubelet.log"));
  const module = JSON.stringify(new URL("./local-agent.ts", import.meta.url).href);
  const code = `import { fileLogger } from ${module}; fileLogger(${JSON.stringify(dir)}).logger.info("x");`;
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
});
