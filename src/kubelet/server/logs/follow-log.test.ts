import assert from "node:assert/strict";
import { rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Clock, systemClock } from "../../../lib/base/clock.ts";
import { monotonicTime } from "../../../lib/base/fake-clock.ts";
import { entryText, FakeLog } from "./fake-log.ts";
import type { StreamLogOptions } from "./stream-log.ts";

/** A follower of a log, and its output so far. */
function setUp(t: TestContext, options: Partial<StreamLogOptions> = {}) {
  const log = new FakeLog();
  const stop = new AbortController();
  const got: string[] = [];
  let ended: Promise<unknown> = Promise.resolve();
  t.after(async () => {
    stop.abort();
    await ended;
    log.remove();
  });
  return {
    log,
    stop,
    text: () => got.join(""),
    lines: () => got.join("").split("\n").slice(0, -1),
    follow() {
      const reading = log.read({
        follow: log.state,
        signal: stop.signal,
        write: async (bytes) => void got.push(bytes.toString()),
        ...options,
      });
      ended = reading.catch(() => {});
      return reading;
    },
    until: (check: () => boolean) => until(check, () => `got ${JSON.stringify(got.join("").slice(-300))}`),
  };
}

async function until(check: () => boolean, state: () => string = () => ""): Promise<void> {
  for (const end = Date.now() + 20_000; !check(); ) {
    if (Date.now() > end) assert.fail(`timed out: ${state()}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("new output is sent immediately, and the follower ends with the container", async (t) => {
  const { log, follow, until, text } = setUp(t);
  log.entry("one");
  const reading = follow();
  await until(() => text() === "one\n");
  log.entry("two");
  await until(() => text() === "one\ntwo\n");
  log.entry("last");
  log.end();
  await reading;
  assert.equal(text(), "one\ntwo\nlast\n");
  assert.equal(log.followers, 0);
});

test("the log of a container that has exited is read to its end, across files", async (t) => {
  const { log, follow, text } = setUp(t);
  log.entry("one");
  log.rotate();
  log.entry("two");
  log.end();
  await follow();
  assert.equal(text(), "one\ntwo\n");
});

test("a partial line is sent immediately; its timestamp is sent once", async (t) => {
  const { log, follow, until, text } = setUp(t, { timestamps: true });
  const at = Date.UTC(2026, 0, 1);
  void follow();
  await until(() => log.followers === 1);
  log.entry("name? ", { tag: "P", at });
  await until(() => text() === "2026-01-01T00:00:00.000000000Z name? ");
  log.entry("err", { stream: "stderr", at });
  await until(() => text().endsWith("err\n"));
  log.entry("joe", { at });
  await until(() => text().endsWith("Z err\njoe\n"));
});

test("an incomplete entry is buffered", async (t) => {
  const { log, follow, until, text } = setUp(t, { tailLines: 0 });
  const entry = entryText({ stream: "stdout", tag: "F", text: "whole", at: 0 });
  log.write(entry.slice(0, 30));
  void follow();
  await until(() => log.followers === 1);
  log.write(entry.slice(30));
  log.entry("next");
  await until(() => text() === "whole\nnext\n");
});

test("a tail and new output", async (t) => {
  const { log, follow, until, text } = setUp(t, { tailLines: 1 });
  log.entry("one");
  log.entry("two");
  void follow();
  await until(() => text() === "two\n");
  log.entry("three", { stream: "stderr" });
  await until(() => text() === "two\nthree\n");
});

test("the byte limit ends the follower", async (t) => {
  const { log, follow, until, text } = setUp(t, { limitBytes: 5 });
  const reading = follow();
  await until(() => log.followers === 1);
  log.entry("abc");
  log.entry("def");
  await reading;
  assert.equal(text(), "abc\nd");
  assert.equal(log.followers, 0);
});

test("the log of a fast writer is followed over rotations and compressions, without lost, duplicate or reordered lines", async (t) => {
  const { log, follow, until, lines } = setUp(t);
  const reading = follow();
  const rotateAt = new Set([5_000, 10_000, 15_000, 20_000, 20_001]);
  let rotatedName: string | undefined;
  // The first entry of the current file.
  let first = 0;
  let firstOfRotated = 0;
  for (let i = 0; i < 25_000; i++) {
    log.entry(`line ${i}`);
    if (rotateAt.has(i)) {
      // A file that no follower has opened is lost to them when it is compressed.
      await until(() => lines().includes(`line ${firstOfRotated}`));
      if (rotatedName) log.compress(rotatedName);
      firstOfRotated = first;
      first = i + 1;
      const rotation = log.beginRotation();
      rotation.write(entryText({ stream: "stdout", tag: "F", text: `late ${i}`, at: Date.now() }));
      rotation.close();
      rotatedName = rotation.name;
    }
    if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await until(() => lines().at(-1) === "line 24999");
  log.end();
  await reading;
  const expected: string[] = [];
  for (let i = 0; i < 25_000; i++) {
    expected.push(`line ${i}`);
    if (rotateAt.has(i)) expected.push(`late ${i}`);
  }
  assert.deepEqual(lines(), expected);
});

test("entries written to the old file after rotation come before the entries of the new one", async (t) => {
  let polls = 0;
  const clock: Clock = {
    ...systemClock,
    monotonic: () => monotonicTime(0),
    after: (ms, callback) => {
      if (ms < 100) polls++;
      return systemClock.after(ms, callback);
    },
  };
  const { log, follow, until, text } = setUp(t, { clock });
  void follow();
  await until(() => log.followers === 1);
  log.entry("before");
  const rotation = log.beginRotation();
  log.entry("after");
  await until(() => polls > 1);
  rotation.write(entryText({ stream: "stdout", tag: "F", text: "late", at: 0 }));
  await until(() => text() === "before\nlate\n");
  rotation.close();
  await until(() => text() === "before\nlate\nafter\n");
});

test("an entry written just before the old file was closed is not lost", async (t) => {
  let rotation: ReturnType<FakeLog["beginRotation"]> | undefined;
  // Read when the new file was seen, and before the writers of the old one are checked.
  const clock: Clock = {
    ...systemClock,
    monotonic: () => {
      rotation?.write(entryText({ stream: "stdout", tag: "F", text: "late", at: 0 }));
      rotation?.close();
      rotation = undefined;
      return monotonicTime(0);
    },
  };
  const { log, follow, until, text } = setUp(t, { clock });
  void follow();
  await until(() => log.followers === 1);
  log.entry("before");
  rotation = log.beginRotation();
  log.entry("after");
  await until(() => text() === "before\nlate\nafter\n");
});

test("a runtime that never closes the old file delays the new one only briefly", async (t) => {
  let now = 0;
  const clock: Clock = { ...systemClock, monotonic: () => monotonicTime(now++ * 100) };
  const { log, follow, until, text } = setUp(t, { clock });
  void follow();
  await until(() => log.followers === 1);
  const rotation = log.beginRotation();
  t.after(() => rotation.close());
  log.entry("after");
  await until(() => text() === "after\n");
});

test("a reader that fell several rotations behind gets all of them, compressed or not", async (t) => {
  const gate = Promise.withResolvers<void>();
  const got: string[] = [];
  const { log, follow, until } = setUp(t, {
    write: async (bytes) => {
      got.push(bytes.toString());
      await gate.promise;
    },
  });
  log.entry("0");
  void follow();
  await until(() => got.length === 1);
  let rotatedName: string | undefined;
  for (let i = 1; i <= 4; i++) {
    log.entry(`${i}`);
    if (rotatedName) log.compress(rotatedName);
    rotatedName = log.rotate();
  }
  log.entry("5");
  gate.resolve();
  await until(() => got.join("") === "0\n1\n2\n3\n4\n5\n");
});

test("a file that was removed before it could be read is skipped, and the next are read", async (t) => {
  const gate = Promise.withResolvers<void>();
  const got: string[] = [];
  const { log, follow, until } = setUp(t, {
    write: async (bytes) => {
      got.push(bytes.toString());
      await gate.promise;
    },
  });
  log.entry("0");
  void follow();
  await until(() => got.length === 1);
  log.entry("1");
  const first = log.rotate();
  log.entry("2");
  const second = log.rotate();
  log.entry("3");
  log.rotate();
  log.entry("4");
  // The first is still open here; the second was never opened.
  rmSync(join(log.dir, first));
  rmSync(join(log.dir, second));
  gate.resolve();
  await until(() => got.join("") === "0\n1\n3\n4\n");
});

test("a log that is truncated in place starts again", async (t) => {
  const { log, follow, until, text } = setUp(t);
  log.entry("a long line that existed before");
  void follow();
  await until(() => text().endsWith("before\n"));
  truncateSync(log.path);
  log.entry("x");
  await until(() => text().endsWith("before\nx\n"));
});

test("a client that disconnects ends the reading, regardless of what it waits for", async (t) => {
  const { log, follow, stop, until } = setUp(t);
  const reading = follow();
  await until(() => log.followers === 1);
  stop.abort();
  await assert.rejects(reading, { name: "AbortError" });
  assert.equal(log.followers, 0);
});

test("reading ends when the pod's directory is deleted and the container is removed", async (t) => {
  const { log, follow, until, text } = setUp(t);
  log.entry("x");
  const reading = follow();
  await until(() => text() === "x\n" && log.followers === 1);
  rmSync(log.dir, { recursive: true });
  log.end();
  await reading;
});
