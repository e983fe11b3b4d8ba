import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { OneTimeTokens } from "./one-time-tokens.ts";
import { keyOf } from "./session-key.ts";
import { Sessions } from "./sessions.ts";

const user = { name: "u", groups: [] };

test("a token is valid once, and until it expires", async () => {
  const clock = new FakeClock();
  const tokens = new OneTimeTokens(clock, 1000);
  const [used, old] = [tokens.create(), tokens.create()];
  assert.deepEqual([tokens.use(used), tokens.use(used)], [true, false]);
  await clock.advance(1000);
  assert.equal(tokens.use(old), false);
  for (const wrong of ["", "x", `${tokens.create()}x`]) assert.equal(tokens.use(wrong), false);
});

test("when there are too many tokens, the oldest is dropped", () => {
  const tokens = new OneTimeTokens(new FakeClock(), 1000);
  const [first = "", second = ""] = Array.from({ length: 33 }, () => tokens.create());
  assert.deepEqual([tokens.use(first), tokens.use(second)], [false, true]);
});

test("too many sessions of other users do not end those of root", () => {
  const sessions = new Sessions(new FakeClock());
  const create = (key: string, name: string, isLocal: boolean) =>
    sessions.create(key, { name, groups: [] }, { isLocal, validMs: 1000 });
  create("root", "root (link)", true);
  for (let i = 0; i < 100; i++) create(`key-${i}`, `user-${i}`, false);
  create("other", "root (link)", false);
  assert.notEqual(sessions.get("root"), undefined);
  assert.equal(sessions.get("key-0"), undefined);
});

test("a session ends at its expiry, by logout, and as the oldest of too many", async () => {
  const clock = new FakeClock();
  const sessions = new Sessions(clock);
  const create = (key: string, validMs = 1000) => sessions.create(key, user, { isLocal: false, validMs });
  const [expires, ends] = [create("expires"), create("ends", 5000)];
  await clock.advance(999);
  assert.equal(sessions.get("expires"), expires);
  await clock.advance(1);
  assert.equal(sessions.get("expires"), undefined);
  assert.ok(expires.ended.aborted);
  sessions.end("ends");
  assert.deepEqual([sessions.get("ends"), ends.ended.aborted], [undefined, true]);
  create("oldest");
  for (let i = 0; i < 64; i++) create(`key-${i}`);
  assert.equal(sessions.get("oldest"), undefined);
  const last = create("last");
  sessions.endAll();
  assert.ok(last.ended.aborted);
});

test("a session ends by itself, with what is open in it", async () => {
  const clock = new FakeClock();
  const session = new Sessions(clock).create("key", user, { isLocal: true, validMs: 1000 });
  await clock.advance(1000);
  assert.ok(session.ended.aborted);
  assert.equal(clock.pending, 0);
});

test("a user who logs in too often ends sessions of their own", () => {
  const sessions = new Sessions(new FakeClock());
  sessions.create("root", { name: "root", groups: [] }, { isLocal: true, validMs: 1000 });
  for (let i = 0; i < 100; i++) sessions.create(`key-${i}`, user, { isLocal: false, validMs: 1000 });
  assert.ok(sessions.get("root"));
});

test("a jump of the wall clock does not change when a session ends", async () => {
  const clock = new FakeClock();
  const sessions = new Sessions(clock);
  sessions.create("key", user, { isLocal: true, validMs: 1000 });
  clock.jump(3_600_000);
  assert.ok(sessions.get("key"));
  clock.jump(-86_400_000);
  await clock.advance(1000);
  assert.equal(sessions.get("key"), undefined);
});

for (const [headers, ofRequest, ofUpgrade] of [
  [{}, undefined, undefined],
  [{ cookie: "x-console-key=k; kubelet-console-key=k", authorization: "Bearer k" }, undefined, undefined],
  [{ "x-console-key": "k" }, "k", undefined],
  [{ "sec-websocket-protocol": "v5.channel.k8s.io" }, undefined, undefined],
  [{ "sec-websocket-protocol": "v5.channel.k8s.io, kubelet-console-key.k" }, undefined, "k"],
] as const)
  test(`${JSON.stringify(headers)}: the key of a request is ${ofRequest}, of a WebSocket ${ofUpgrade}`, () => {
    assert.deepEqual([keyOf(headers, false), keyOf(headers, true)], [ofRequest, ofUpgrade]);
  });
