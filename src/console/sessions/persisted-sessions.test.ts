import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { epochMs, plusMs } from "../../lib/base/time.ts";
import { PersistedSessions, resumeProof } from "./persisted-sessions.ts";
import { secretHash } from "./secrets.ts";

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

test("a session is resumed once, with the key, for this run and this origin", async (t) => {
  const { expiresAt, start } = setUp(t);
  const first = start();
  await first.add("cookie", { resumeKey: "key", expiresAt });
  const old = resumeProof("key", first.challenge, origin);
  const next = start();
  const right = resumeProof("key", next.challenge, origin);
  for (const [cookie, proof, at] of [
    ["cookie", old, origin],
    ["cookie", "", origin],
    ["cookie", "key", origin],
    ["cookie", right, "http://127.0.0.1:10281"],
    ["cookie", resumeProof("other", next.challenge, origin), origin],
    ["other", right, origin],
  ] as const)
    assert.equal(await next.resume(cookie, proof, at), undefined, `${cookie} ${proof} ${at}`);
  assert.equal(await next.resume("cookie", right, origin), expiresAt);
  assert.equal(await next.resume("cookie", right, origin), undefined);
  assert.equal(start().has("cookie"), false);
});

test("a session that has expired or was removed is not resumed", async (t) => {
  const { clock, expiresAt, start } = setUp(t);
  const first = start();
  await first.add("expires", { resumeKey: "key", expiresAt });
  await first.add("ends", { resumeKey: "key", expiresAt });
  await first.remove(secretHash("ends"));
  const next = start();
  assert.deepEqual([next.has("expires"), next.has("ends")], [true, false]);
  await clock.advance(1000);
  assert.equal(next.has("expires"), false);
});

test("the sessions of an agent that stops are kept", async (t) => {
  const { expiresAt, start } = setUp(t);
  const first = start();
  await first.add("cookie", { resumeKey: "key", expiresAt });
  first.close();
  await first.remove(secretHash("cookie"));
  assert.equal(start().has("cookie"), true);
});

test("the file is for root only, has no cookies and is bounded", async (t) => {
  const { path, expiresAt, start } = setUp(t);
  const persisted = start();
  for (let i = 0; i < 70; i++) await persisted.add(`cookie-${i}`, { resumeKey: `key-${i}`, expiresAt });
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const text = readFileSync(path, "utf8");
  assert.doesNotMatch(text, /cookie-/);
  assert.equal((JSON.parse(text) as unknown[]).length, 64);
});

test("a corrupt file has no sessions", (t) => {
  const { path, start } = setUp(t);
  for (const text of [
    "",
    "{",
    "null",
    '{"id":1}',
    '[null,1,{"id":"x"},{"id":"x","resumeKey":"","expiresAt":9e15}]',
  ]) {
    writeFileSync(path, text);
    assert.equal(start().has("x"), false, text);
  }
});
