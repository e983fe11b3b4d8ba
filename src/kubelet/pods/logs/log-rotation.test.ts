import assert from "node:assert/strict";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import type { ContainerId } from "../../../lib/clients/cri/cri.ts";
import { CriError } from "../../../lib/clients/cri/cri-error.ts";
import { OpenDir } from "../../../lib/host/open-dir.ts";
import { compressFile, type LoggingContainer, LogRotation, type LogRotationOptions } from "./log-rotation.ts";

const everyMs = 10_000;

/** Files are real, time is not. Each container has a log file, which the fake runtime reopens. */
async function setUp(t: TestContext, options: Partial<LogRotationOptions> = {}) {
  const podLogsDir = mkdtempSync(join(tmpdir(), "logs-"));
  const dir = join(podLogsDir, "default_p_uid/c");
  mkdirSync(dir, { recursive: true });
  const clock = new FakeClock(new Date(2026, 0, 1, 12, 0, 0).getTime());
  const running: LoggingContainer[] = [];
  const warnings: string[] = [];
  const runtime = {
    reopened: [] as string[],
    reopen: async (id: ContainerId): Promise<void> => writeFileSync(join(dir, `${id}.log`), ""),
  };
  const metrics = createMetrics();
  const rotation = new LogRotation({
    runtime: {
      reopenContainerLog: async (id) => {
        runtime.reopened.push(id);
        await runtime.reopen(id);
      },
    },
    running: () => running,
    podLogsDir,
    maxBytes: 10,
    maxFiles: 3,
    workers: 1,
    everyMs,
    clock,
    metrics,
    logger: { ...silentLogger, warn: (_message, fields) => warnings.push(String(fields?.err)) },
    ...options,
  });
  const stop = new AbortController();
  t.after(async () => {
    stop.abort();
    await rotation.done;
    rmSync(podLogsDir, { recursive: true });
  });
  return {
    dir,
    podLogsDir,
    clock,
    runtime,
    rotation,
    metrics,
    warnings,
    running,
    path: (name: string) => join(dir, name),
    write: (name: string, text: string) => writeFileSync(join(dir, name), text),
    run: (id: string) => running.push({ id: id as ContainerId, logPath: join(dir, `${id}.log`) }),
    files: () => readdirSync(dir).sort((a, b) => (a < b ? -1 : 1)),
    start: () => rotation.start(stop.signal),
    stop,
    /** Advances to the next check, and waits until its file operations have completed. */
    async round(check: () => void): Promise<void> {
      await clock.advance(everyMs);
      await eventually(check);
    },
  };
}

async function eventually(check: () => void): Promise<void> {
  const until = Date.now() + 5000;
  for (;;) {
    try {
      return check();
    } catch (error) {
      if (Date.now() > until) throw error;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

// parity: field containerLogMaxSize as maxBytes, field podLogsDir
test("a log of the maximum size is rotated, and the runtime reopens it; a smaller one is not", async (t) => {
  const { write, run, start, files, runtime, path } = await setUp(t);
  write("a.log", "0123456789");
  write("b.log", "012345678");
  run("a");
  run("b");
  await start();
  await eventually(() => assert.deepEqual(files(), ["a.log", "a.log.20260101-120000", "b.log"]));
  assert.equal(readFileSync(path("a.log.20260101-120000"), "utf8"), "0123456789");
  await eventually(() => assert.deepEqual(runtime.reopened, ["a"]));
});

// parity: field containerLogMaxFiles as maxFiles, field containerLogMonitorInterval as everyMs
test("the previous rotated log is compressed, and the oldest is removed", async (t) => {
  const { write, run, start, files, round, path } = await setUp(t);
  run("a");
  write("a.log", "first  log");
  await start();
  await eventually(() => assert.deepEqual(files(), ["a.log", "a.log.20260101-120000"]));
  write("a.log", "second log");
  await round(() =>
    assert.deepEqual(files(), ["a.log", "a.log.20260101-120000.gz", "a.log.20260101-120010"]),
  );
  assert.equal(gunzipSync(readFileSync(path("a.log.20260101-120000.gz"))).toString(), "first  log");
  write("a.log", "third  log");
  await round(() =>
    assert.deepEqual(files(), ["a.log", "a.log.20260101-120010.gz", "a.log.20260101-120020"]),
  );
});

test("a log that cannot be reopened is renamed back, logged once, and retried", async (t) => {
  const { write, run, start, files, round, path, runtime, warnings } = await setUp(t);
  const reopen = runtime.reopen;
  runtime.reopen = async () => {
    throw new Error("no such task");
  };
  run("a");
  write("a.log", "0123456789");
  await start();
  await eventually(() => assert.deepEqual(warnings, ["no such task"]));
  assert.deepEqual(files(), ["a.log"]);
  assert.equal(readFileSync(path("a.log"), "utf8"), "0123456789");
  await round(() => assert.equal(runtime.reopened.length, 2));
  await eventually(() => assert.deepEqual(files(), ["a.log"]));
  assert.equal(warnings.length, 1);
  runtime.reopen = reopen;
  await round(() => assert.deepEqual(files(), ["a.log", "a.log.20260101-120020"]));
});

test("a log that was deleted is reopened", async (t) => {
  const { run, start, files, runtime } = await setUp(t);
  run("a");
  await start();
  await eventually(() => assert.deepEqual(files(), ["a.log"]));
  assert.deepEqual(runtime.reopened, ["a"]);
});

test("a container that was removed in the meantime is not an error", async (t) => {
  const { run, start, runtime, warnings, rotation, stop } = await setUp(t);
  runtime.reopen = async () => {
    throw new CriError("NOT_FOUND", "ReopenContainerLog", "no such container");
  };
  run("a");
  await start();
  await eventually(() => assert.deepEqual(runtime.reopened, ["a"]));
  stop.abort();
  await rotation.done;
  assert.deepEqual(warnings, []);
});

test("the log of a container that has exited is not rotated", async (t) => {
  const { write, run, start, files, round, running, runtime } = await setUp(t);
  run("a");
  run("b");
  write("a.log", "");
  write("b.log", "0123456789");
  await start();
  await eventually(() => assert.deepEqual(runtime.reopened, ["b"]));
  running.splice(0, 1);
  write("a.log", "0123456789");
  write("b.log", "0123456789");
  await round(() => assert.deepEqual(runtime.reopened, ["b", "b"]));
  assert.equal(files().filter((name) => name.startsWith("a.")).length, 1);
});

test("two rotations in one second overwrite nothing", async (t) => {
  const { write, run, start, files, path, runtime, warnings, round } = await setUp(t);
  run("a");
  run("b");
  write("a.log", "0123456789");
  write("b.log", "0123456789");
  write("a.log.20260101-120000", "earlier");
  await start();
  await eventually(() => assert.deepEqual(runtime.reopened, ["b"]));
  assert.equal(gunzipSync(readFileSync(path("a.log.20260101-120000.gz"))).toString(), "earlier");
  assert.equal(readFileSync(path("a.log"), "utf8"), "0123456789");
  await round(() => assert.ok(files().includes("a.log.20260101-120010")));
  assert.deepEqual(warnings, []);
});

// parity: field containerLogMaxWorkers as workers
test("no more logs are rotated in parallel than allowed, and each only once", async (t) => {
  const { write, run, start, round, runtime, clock } = await setUp(t, { workers: 2 });
  const ends: (() => void)[] = [];
  const { reopen } = runtime;
  runtime.reopen = async (id) => {
    await new Promise<void>((resolve) => ends.push(resolve));
    await reopen(id);
  };
  for (const id of ["a", "b", "c"]) {
    run(id);
    write(`${id}.log`, "0123456789");
  }
  await start();
  await eventually(() => assert.equal(ends.length, 2));
  await clock.advance(5 * everyMs);
  assert.deepEqual(new Set(runtime.reopened), new Set(["a", "b"]));
  assert.equal(ends.length, 2);
  ends[0]!();
  await round(() => assert.ok(runtime.reopened.includes("c")));
  for (const end of ends) end();
});

test("a negative size disables rotation", async (t) => {
  const { write, run, start, files, clock, rotation } = await setUp(t, { maxBytes: -1 });
  run("a");
  write("a.log", "0123456789");
  await start();
  await rotation.done;
  assert.equal(clock.pending, 0);
  assert.deepEqual(files(), ["a.log"]);
});

test("log rotation is done when its file operations have completed", async (t) => {
  const { write, run, start, runtime, rotation, stop, files } = await setUp(t);
  const end = Promise.withResolvers<void>();
  runtime.reopen = () => end.promise;
  run("a");
  write("a.log", "0123456789");
  await start();
  await eventually(() => assert.equal(runtime.reopened.length, 1));
  stop.abort();
  let isDone = false;
  const done = rotation.done.then(() => {
    isDone = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isDone, false);
  end.resolve();
  await done;
  assert.deepEqual(files(), ["a.log.20260101-120000"]);
});

test("a compressed file has the mode of the original, which a failed compression keeps", async (t) => {
  const { dir, write, path } = await setUp(t);
  write("x", "content");
  const { mode } = statSync(path("x"));
  const open = await OpenDir.open(dir);
  t.after(() => open.close());
  await assert.rejects(compressFile(open, "x", AbortSignal.abort()));
  assert.deepEqual([existsSync(path("x")), existsSync(path("x.tmp"))], [true, false]);
  await compressFile(open, "x");
  assert.deepEqual([existsSync(path("x")), existsSync(path("x.tmp"))], [false, false]);
  assert.equal(statSync(path("x.gz")).mode, mode);
  assert.equal(gunzipSync(readFileSync(path("x.gz"))).toString(), "content");
});

test("a link that replaces a rotated log, or the file that it is compressed to, is not followed", async (t) => {
  const { dir, podLogsDir, write, run, start, files, path, runtime, warnings } = await setUp(t);
  const [secret, target] = ["secret", "target"].map((name) => join(podLogsDir, name));
  for (const file of [secret!, target!]) writeFileSync(file, "of the host");
  run("a");
  write("a.log", "0123456789");
  write("a.log.20250101-000000", "rotated");
  symlinkSync(secret!, path("a.log.20250102-000000"));
  symlinkSync(target!, path("a.log.20250101-000000.tmp"));
  await start();
  await eventually(() => assert.deepEqual(runtime.reopened, ["a"]));
  assert.deepEqual(warnings, []);
  for (const file of [secret!, target!]) assert.equal(readFileSync(file, "utf8"), "of the host");
  assert.deepEqual(
    files().filter((name) => lstatSync(join(dir, name)).isFile()),
    ["a.log", "a.log.20250101-000000.gz", "a.log.20260101-120000"],
  );
});

for (const [what, replaced] of [
  ["the directory of a container", "default_p_uid/c"],
  ["the log directory of a pod", "default_p_uid"],
] as const)
  test(`a link that replaces ${what} leads to no file of the host`, async (t) => {
    const { podLogsDir, write, run, start, files, runtime, warnings } = await setUp(t);
    run("a");
    write("a.log", "0123456789");
    for (const day of [1, 2, 3, 4]) write(`a.log.2025010${day}-000000`, "of the host");
    const before = files();
    renameSync(join(podLogsDir, replaced), join(podLogsDir, "host"));
    symlinkSync(join(podLogsDir, "host"), join(podLogsDir, replaced));
    await start();
    await eventually(() => assert.match(warnings.join(), /symbolic link/));
    assert.deepEqual(files(), before);
    assert.deepEqual(runtime.reopened, []);
  });

test("a log directory that is a link itself, and logs outside of it, are rotated", async (t) => {
  const elsewhere = mkdtempSync(join(tmpdir(), "other-logs-"));
  t.after(() => rmSync(elsewhere, { recursive: true }));
  const link = join(elsewhere, "link");
  const { podLogsDir, running, start } = await setUp(t, { podLogsDir: link });
  symlinkSync(podLogsDir, link);
  const logs = [join(elsewhere, "a.log"), join(link, "default_p_uid/c/b.log")];
  for (const [index, logPath] of logs.entries()) {
    writeFileSync(logPath, "0123456789");
    running.push({ id: `${"ab"[index]}` as ContainerId, logPath });
  }
  await start();
  for (const logPath of logs)
    await eventually(() => assert.ok(existsSync(`${logPath}.20260101-120000`), logPath));
});

// parity: metric /metrics workqueue_adds_total, metric /metrics workqueue_depth
// parity: metric /metrics workqueue_unfinished_work_seconds
// parity: metric /metrics workqueue_longest_running_processor_seconds
// parity: metric /metrics workqueue_queue_duration_seconds, metric /metrics workqueue_work_duration_seconds
// parity: metric /metrics workqueue_retries_total
test("the queue of logs is measured: what waits, what is processed and for how long", async (t) => {
  const { write, run, start, clock, runtime, metrics } = await setUp(t);
  const value = async (what: string) => {
    const line = `${what}{name="kubelet_log_rotate_manager"} `;
    const text = await metrics.registry.metrics();
    return Number(text.slice(text.indexOf(line) + line.length).split("\n")[0]);
  };
  const all = () =>
    Promise.all(
      [
        "workqueue_adds_total",
        "workqueue_depth",
        "workqueue_unfinished_work_seconds",
        "workqueue_longest_running_processor_seconds",
      ].map(value),
    );
  assert.deepEqual(await all(), [0, 0, 0, 0]);
  const reached = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const reopen = runtime.reopen;
  runtime.reopen = async (id) => {
    reached.resolve();
    await held.promise;
    await reopen(id);
  };
  for (const id of ["a", "b"]) {
    run(id);
    write(`${id}.log`, "0123456789");
  }
  await start();
  await reached.promise;
  await clock.advance(2000);
  assert.deepEqual(await all(), [2, 1, 2, 2], "one is processed, the other waits");
  held.resolve();
  await eventually(() => assert.deepEqual(runtime.reopened, ["a", "b"]));
  assert.equal(await value("workqueue_queue_duration_seconds_sum"), 2);
  assert.equal(await value("workqueue_work_duration_seconds_sum"), 2);
  assert.deepEqual([await value("workqueue_depth"), await value("workqueue_retries_total")], [0, 0]);
});
