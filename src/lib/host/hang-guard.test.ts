import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { FakeClock } from "../base/fake-clock.ts";
import { HangGuard } from "./hang-guard.ts";
import { libc } from "./libc.ts";
import { readMountsBelow } from "./mount-table.ts";
import { removeTree } from "./remove-tree.ts";

const never = () => new Promise<string>(() => {});

test("a call returns its result or its error", async () => {
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

test("a path that hangs fails after 5 s, is not retried, and is usable once it responds", async () => {
  const clock = new FakeClock();
  const guard = new HangGuard(clock);
  let finish = (_: string) => {};
  const first = assert.rejects(
    guard.run("/a", () => new Promise<string>((resolve) => (finish = resolve))),
    /is not responding/,
  );
  await clock.advance(5_000);
  await first;
  await assert.rejects(guard.run("/a", never), /is not responding/);
  finish("late");
  await clock.advance(0);
  assert.equal(await guard.run("/a", async () => "x"), "x");
});

test("a second caller for a path in progress waits", async () => {
  const guard = new HangGuard(new FakeClock());
  const order: string[] = [];
  const finish = Promise.withResolvers<void>();
  const first = guard.run("/a", () => finish.promise.then(() => order.push("first")));
  const second = guard.run("/a", async () => order.push("second"));
  finish.resolve();
  await Promise.all([first, second]);
  assert.deepEqual(order, ["first", "second"]);
});

test("however many paths hang, calls use at most half of the threads", async () => {
  const clock = new FakeClock();
  const guard = new HangGuard(clock, 2);
  let begun = 0;
  const finishers: (() => void)[] = [];
  const hang = () => {
    begun++;
    return new Promise<void>((resolve) => finishers.push(resolve));
  };
  const calls = ["/a", "/b", "/c", "/d", "/e"].map((path) => guard.run(path, hang));
  const ends = Promise.allSettled(calls);
  await clock.advance(5_000);
  const messages = (await ends).map((end) => (end.status === "rejected" ? end.reason.message : "fine"));
  assert.deepEqual(messages, [
    "/a is not responding",
    "/b is not responding",
    ...["/c", "/d", "/e"].map((path) => `${path}: too many unresponsive filesystems`),
  ]);
  assert.equal(begun, 2);
  await assert.rejects(guard.run("/f", hang), /too many/);
  finishers[0]?.();
  await clock.advance(0);
  assert.equal(await guard.run("/f", async () => "x"), "x");
});

test("queued calls start as soon as another has ended", async () => {
  const guard = new HangGuard(new FakeClock(), 2);
  const paths = Array.from({ length: 20 }, (_, i) => `/${i}`);
  let running = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
  };
  await Promise.all(paths.map((path) => guard.run(path, work)));
  assert.equal(most, 2);
});

const mayMount = process.getuid?.() === 0 && existsSync("/dev/fuse");
const forceAndDetach = 3;

test("with more dead filesystems than threads other files can still be read", {
  skip: !mayMount && "needs root and FUSE",
}, async (t) => {
  const dir = await mkdtemp(join(tmpdir(), "hang-guard-"));
  t.after(async () => {
    const { unmount } = await libc();
    for (const path of readMountsBelow(dir)) await unmount(path, forceAndDetach);
    await removeTree(dir);
  });
  const script = new URL("./fake-dead-mounts.ts", import.meta.url).pathname;
  const output = await new Promise<string>((resolve) => {
    const limits = { timeout: 30_000, killSignal: "SIGKILL" } as const;
    execFile(process.execPath, [script, dir], limits, (_, stdout) => resolve(stdout));
  });
  assert.equal(output, "read, all rejected\n");
});
