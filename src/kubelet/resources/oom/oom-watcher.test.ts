import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { KubeletError } from "../../../lib/base/errors.ts";
import { FakeClock, settle } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { openKernelLog } from "../../../lib/host/kernel-log.ts";
import type { OomKill } from "../../../lib/model/oom-kill.ts";
import { OomWatcher } from "./oom-watcher.ts";

const recording = (name: string) =>
  readFileSync(new URL(`../../../../test/fixtures/kernel-log/${name}.txt`, import.meta.url), "utf8")
    .trim()
    .split("\n")
    .map((line) => `${line}\n`);

/** A watcher of a fake kernel log, to which a test adds records; an error is thrown in its place. */
function watch(openError?: Error) {
  const queue: (string | Error)[] = [];
  const clock = new FakeClock();
  const kills: OomKill[] = [];
  const warnings: string[] = [];
  const stop = new AbortController();
  let closed = 0;
  let reads = 0;
  const device = {
    read: () => {
      reads++;
      const next = queue.shift() ?? new KubeletError("EAGAIN", "again");
      if (next instanceof Error) throw next;
      return next;
    },
    close: () => {
      closed++;
    },
  };
  const watcher = new OomWatcher({
    open: () => openKernelLog(openError ? () => Promise.reject(openError) : async () => device),
    onKill: (kill) => kills.push(kill),
    clock,
    logger: { ...silentLogger, warn: (message) => warnings.push(message) },
  });
  const start = () => watcher.start(stop.signal);
  return { queue, clock, kills, warnings, stop, start, watcher, closed: () => closed, reads: () => reads };
}

test("a kill is reported once, within 10 seconds of its last message", async () => {
  const { queue, clock, kills, start } = watch();
  await start();
  const lines = recording("6.1-node");
  queue.push(...lines.slice(0, 10));
  await clock.advance(10_000);
  assert.deepEqual(kills, []);
  queue.push(...lines.slice(10));
  await clock.advance(10_000);
  assert.deepEqual(
    kills.map(({ pid }) => pid),
    [687],
  );
  await clock.advance(10_000);
  assert.equal(kills.length, 1);
});

test("messages that were overwritten before they were read cost the kill they belong to, and no other", async () => {
  const { queue, clock, kills, warnings, start } = watch();
  await start();
  queue.push(
    ...recording("6.1-container").slice(0, -2),
    new KubeletError("EPIPE", "broken pipe"),
    ...recording("6.1-pod").slice(-1),
    ...recording("6.1-node"),
  );
  await clock.advance(10_000);
  assert.deepEqual(
    kills.map(({ pid }) => pid),
    [687],
  );
  assert.deepEqual(warnings, []);
});

test("a kill is reported immediately when a container has exited", async () => {
  const { queue, kills, start, watcher } = watch();
  await start();
  queue.push(...recording("6.1-container"));
  watcher.containerExited();
  assert.equal(kills.length, 1);
  watcher.containerExited();
  assert.equal(kills.length, 1);
});

test("an idle watcher reads the kernel log six times a minute", async () => {
  const { clock, reads, start } = watch();
  await start();
  const before = reads();
  await clock.advance(60_000);
  assert.equal(reads() - before, 6);
});

test("containers that exit while the kernel log is not open, or no longer open, are not an error", async () => {
  const { queue, clock, warnings, start, stop, watcher, closed } = watch();
  watcher.containerExited();
  await start();
  queue.push(new KubeletError("ENODEV", "gone"));
  watcher.containerExited();
  watcher.containerExited();
  await clock.advance(60_000);
  stop.abort();
  await watcher.done;
  watcher.containerExited();
  assert.deepEqual(warnings, ["Failed to read kernel log, OOM kills are no longer reported"]);
  assert.equal(closed(), 1);
});

test("a node without a kernel log starts, with one line in its own log", async () => {
  const { clock, warnings, start, watcher } = watch(new KubeletError("ENOENT", "no such file"));
  await start();
  await clock.advance(60_000);
  await watcher.done;
  assert.deepEqual(warnings, ["Failed to open kernel log, OOM kills are not reported"]);
});

test("a kernel log that fails is closed and reported once", async () => {
  const { queue, clock, warnings, start, watcher, closed } = watch();
  await start();
  queue.push(...Array.from({ length: 9 }, () => new KubeletError("ENODEV", "gone")));
  await clock.advance(60_000);
  await watcher.done;
  assert.deepEqual(warnings, ["Failed to read kernel log, OOM kills are no longer reported"]);
  assert.equal(closed(), 1);
});

test("a watcher that is stopped closes the kernel log", async () => {
  const { clock, stop, start, watcher, closed } = watch();
  await start();
  stop.abort();
  await settle();
  await watcher.done;
  assert.equal(closed(), 1);
  assert.equal(clock.pending, 0);
});
