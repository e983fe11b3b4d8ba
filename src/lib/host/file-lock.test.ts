import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { type FileLock, lockFile } from "./file-lock.ts";

async function setUp(t: TestContext) {
  const dir = await mkdtemp(join(tmpdir(), "file-lock-"));
  t.after(() => rm(dir, { recursive: true }));
  const path = join(dir, "folder", "lock");
  const attempt = () => lockFile(path, { dirMode: 0o755 });
  const take = async (): Promise<FileLock> => {
    const lock = await attempt();
    if (lock.kind !== "acquired") assert.fail(`held by ${lock.holder}`);
    return lock;
  };
  return { path, attempt, take };
}

test("a lock is exclusive, and names its holder", async (t) => {
  const { path, attempt, take } = await setUp(t);
  const lock = await take();
  assert.match(await readFile(path, "utf8"), new RegExp(`^${process.pid} \\d+$`));
  assert.deepEqual(await attempt(), { kind: "held", holder: process.pid });
  lock.release();
  assert.equal(existsSync(path), false);
  (await take()).release();
});

test("a holder that has not written its PID yet is known from the kernel", async (t) => {
  const { path, attempt, take } = await setUp(t);
  const lock = await take();
  t.after(() => lock.release());
  await writeFile(path, "");
  assert.deepEqual(await attempt(), { kind: "held", holder: process.pid });
});

for (const before of [undefined, 0o644])
  test(`another user cannot open, and so not lock, a lock file ${before ? "of an earlier version" : "with umask 0"}`, async (t) => {
    const { path, take } = await setUp(t);
    if (before !== undefined) {
      await mkdir(dirname(path));
      await writeFile(path, "", { mode: before });
    }
    const umask = process.umask(0);
    t.after(() => process.umask(umask));
    const lock = await take();
    t.after(() => lock.release());
    assert.equal((await stat(path)).mode & 0o777, 0o600);
  });

test("a lock that is held keeps no file open for writing: its filesystem can be remounted read-only", async (t) => {
  const { path, take } = await setUp(t);
  const lock = await take();
  const modes = readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      if (readlinkSync(`/proc/self/fd/${fd}`) !== path) return [];
      const flags = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1] ?? "";
      return [Number.parseInt(flags, 8) & 3];
    } catch {
      return [];
    }
  });
  assert.deepEqual(modes, [0]);
  lock.release();
});

for (const [name, content] of [
  ["a process that has exited", "4194304999 1"],
  ["a process with another start time", `${process.pid} 1`],
  ["nothing", ""],
  ["more than we write", "x".repeat(1000)],
] as const)
  test(`an unlocked file is taken over: it names ${name}`, async (t) => {
    const { path, take } = await setUp(t);
    (await take()).release();
    await writeFile(path, content);
    const next = await take();
    assert.match(await readFile(path, "utf8"), new RegExp(`^${process.pid} \\d+$`));
    next.release();
  });

test("a killed process no longer holds it", async (t) => {
  const { path, attempt, take } = await setUp(t);
  const program = `
    const { lockFile } = await import(${JSON.stringify(join(import.meta.dirname, "file-lock.ts"))});
    console.log((await lockFile(${JSON.stringify(path)}, { dirMode: 0o755 })).kind);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  assert.equal(String((await once(child.stdout, "data"))[0]).trim(), "acquired");
  assert.deepEqual(await attempt(), { kind: "held", holder: child.pid });
  const ended = once(child, "close");
  child.kill("SIGKILL");
  await ended;
  assert.equal(existsSync(path), true);
  (await take()).release();
});

test("concurrent lock and unlock never give it to both", async (t) => {
  const { attempt } = await setUp(t);
  let [held, taken] = [0, 0];
  const one = async () => {
    for (let i = 0; i < 100; i++) {
      const lock = await attempt();
      if (lock.kind === "held") continue;
      assert.equal(++held, 1);
      taken++;
      await new Promise((resolve) => setImmediate(resolve));
      held--;
      lock.release();
    }
  };
  await Promise.all([one(), one(), one()]);
  assert.ok(taken > 0);
});
