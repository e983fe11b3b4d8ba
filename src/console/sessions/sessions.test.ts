import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { cookieHeader, cookieName, readCookie } from "./cookie.ts";
import { OneTimeTokens } from "./one-time-tokens.ts";
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

test("a session ends at its expiry, by logout, and as the oldest of too many", async () => {
  const clock = new FakeClock();
  const sessions = new Sessions(clock);
  const create = (validMs = 1000) => sessions.create(user, { isLocal: false, validMs });
  const [expires, ends] = [create(), create(5000)];
  await clock.advance(999);
  assert.equal(sessions.get(expires.id), expires.session);
  await clock.advance(1);
  assert.equal(sessions.get(expires.id), undefined);
  assert.ok(expires.session.ended.aborted);
  sessions.end(ends.id);
  assert.deepEqual([sessions.get(ends.id), ends.session.ended.aborted], [undefined, true]);
  const oldest = create();
  for (let i = 0; i < 64; i++) create();
  assert.equal(sessions.get(oldest.id), undefined);
  const last = create();
  sessions.endAll();
  assert.ok(last.session.ended.aborted);
});

test("a session ends by itself, with what is open in it", async () => {
  const clock = new FakeClock();
  const { session } = new Sessions(clock).create(user, { isLocal: true, validMs: 1000 });
  await clock.advance(1000);
  assert.ok(session.ended.aborted);
  assert.equal(clock.pending, 0);
});

test("a user who logs in too often ends sessions of their own", () => {
  const sessions = new Sessions(new FakeClock());
  const root = sessions.create({ name: "root", groups: [] }, { isLocal: true, validMs: 1000 });
  for (let i = 0; i < 100; i++) sessions.create(user, { isLocal: false, validMs: 1000 });
  assert.ok(sessions.get(root.id));
});

test("a jump of the wall clock does not change when a session ends", async () => {
  const clock = new FakeClock();
  const sessions = new Sessions(clock);
  const { id } = sessions.create(user, { isLocal: true, validMs: 1000 });
  clock.jump(3_600_000);
  assert.ok(sessions.get(id));
  clock.jump(-86_400_000);
  await clock.advance(1000);
  assert.equal(sessions.get(id), undefined);
});

test("a cookie has the port in its name, and is deleted without a value", () => {
  assert.equal(cookieName("http://127.0.0.1:10280"), "kubelet-console-10280");
  assert.equal(cookieName("https://node"), "kubelet-console-443");
  assert.equal(readCookie({ cookie: "a=1; c=2; ac=3" }, "c"), "2");
  assert.equal(readCookie({}, "c"), undefined);
  assert.equal(
    cookieHeader("c", undefined, { maxAgeSeconds: 9, secure: true }),
    "c=; Path=/console; Max-Age=0; HttpOnly; SameSite=Strict; Secure",
  );
});
