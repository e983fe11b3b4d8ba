import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { epochMs, plusMs } from "../../lib/base/time.ts";
import { PersistedSessions, runKey } from "./persisted-sessions.ts";

const origin = "http://127.0.0.1:10280";

function setUp(t: TestContext) {
  const dir = mkdtempSync(join(tmpdir(), "persisted-sessions-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const clock = new FakeClock();
  const path = join(dir, "console-sessions.json");
  const expiresAt = epochMs(plusMs(clock.wall(), 1000));
  /** As the next run of the agent reads it. */
  const start = () => new PersistedSessions({ path, clock, logger: silentLogger });
  return { path, clock, expiresAt, start };
}

test("each run and each origin has its own key of a session, which only its resume key derives", async (t) => {
  const { expiresAt, start } = setUp(t);
  const first = start();
  await first.add({ resumeKey: "key", expiresAt });
  const next = start();
  assert.deepEqual(next.valid(), [{ resumeKey: "key", expiresAt }]);
  assert.notEqual(next.challenge, first.challenge);
  const keys = [
    runKey("key", first.challenge, origin),
    runKey("key", next.challenge, origin),
    runKey("key", next.challenge, "http://127.0.0.1:10281"),
    runKey("other", next.challenge, origin),
  ];
  assert.equal(new Set(keys).size, keys.length);
});

test("a session that has expired or was removed does not continue", async (t) => {
  const { clock, expiresAt, start } = setUp(t);
  const first = start();
  await first.add({ resumeKey: "expires", expiresAt });
  await first.add({ resumeKey: "ends", expiresAt });
  await first.remove("ends");
  const next = start();
  assert.deepEqual(
    next.valid().map(({ resumeKey }) => resumeKey),
    ["expires"],
  );
  await clock.advance(1000);
  assert.deepEqual(next.valid(), []);
});

test("the sessions of an agent that stops are kept", async (t) => {
  const { expiresAt, start } = setUp(t);
  const first = start();
  await first.add({ resumeKey: "key", expiresAt });
  first.close();
  await first.remove("key");
  assert.equal(start().valid().length, 1);
});

test("the file is for root only and is bounded", async (t) => {
  const { path, expiresAt, start } = setUp(t);
  const persisted = start();
  for (let i = 0; i < 70; i++) await persisted.add({ resumeKey: `key-${i}`, expiresAt });
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal((JSON.parse(readFileSync(path, "utf8")) as unknown[]).length, 64);
});

test("a corrupt file has no sessions", (t) => {
  const { path, start } = setUp(t);
  for (const text of [
    "",
    "{",
    "null",
    '{"id":1}',
    '[null,1,{"resumeKey":"x"},{"resumeKey":"","expiresAt":9e15}]',
  ]) {
    writeFileSync(path, text);
    assert.deepEqual(start().valid(), [], text);
  }
});
