import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../base/fake-clock.ts";
import { HangGuard } from "./hang-guard.ts";

const never = () => new Promise<string>(() => {});

test("a call that answers gives its answer, and a failed one its error", async () => {
  const guard = new HangGuard(new FakeClock());
  assert.equal(await guard.run("/a", async () => "x"), "x");
  await assert.rejects(
    guard.run("/a", async () => {
      throw new Error("bad");
    }),
    /bad/,
  );
  assert.equal(await guard.run("/a", async () => "y"), "y");
});

test("a path that hangs is given up after 5 s, not asked again, and usable once it answers", async () => {
  const clock = new FakeClock();
  const guard = new HangGuard(clock);
  let answer = (_: string) => {};
  const first = assert.rejects(
    guard.run("/a", () => new Promise<string>((resolve) => (answer = resolve))),
    /does not answer/,
  );
  await clock.advance(5_000);
  await first;
  await assert.rejects(guard.run("/a", never), /does not answer/);
  answer("late");
  await clock.advance(0);
  assert.equal(await guard.run("/a", async () => "x"), "x");
});

test("with two paths that hang, others are asked one at a time", async () => {
  const clock = new FakeClock();
  const guard = new HangGuard(clock);
  for (const path of ["/a", "/b"]) guard.run(path, never).catch(() => {});
  await clock.advance(5_000);
  assert.equal(await guard.run("/c", async () => "x"), "x");
  guard.run("/d", never).catch(() => {});
  await assert.rejects(
    guard.run("/e", async () => "x"),
    /too many/,
  );
});
