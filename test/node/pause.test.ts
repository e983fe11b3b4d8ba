import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { sleep, systemClock } from "../../src/lib/base/clock.ts";
import { pauseElf } from "../../src/single-node/pause-elf.ts";
import { readProcess, readProcesses } from "../../src/single-node/processes.ts";

let dir: string;
let program: string;
before(() => {
  dir = mkdtempSync(join(tmpdir(), "pause-"));
  program = join(dir, "pause");
  writeFileSync(program, pauseElf(), { mode: 0o755 });
});
after(() => rmSync(dir, { recursive: true, force: true }));

/** Waits until the condition returns a value. */
async function until<T>(what: string, condition: () => T | undefined | false): Promise<T> {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const value = condition();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`${what}: not within 10 s`);
    await sleep(systemClock, 5);
  }
}

/** A program that sleeps under its own name waits for a signal: from then on a test may send one. */
function waits(pid: number): boolean {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")") + 3) === "pause) S";
}

function start(t: TestContext, file: string, args: string[] = []): ChildProcess {
  const child = spawn(file, args, { stdio: "ignore" });
  t.after(() => child.kill("SIGKILL"));
  return child;
}

async function exitOf(child: ChildProcess): Promise<unknown> {
  const [code, signal] = await once(child, "exit");
  return code ?? signal;
}

describe("the pause program", () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    test(`exits with status 0 on ${signal}`, async (t) => {
      const child = start(t, program);
      await until("waits", () => waits(child.pid!));
      const exited = exitOf(child);
      child.kill(signal);
      assert.equal(await exited, 0);
    });
  }

  test("does not exit on another signal (SIGCHLD)", async (t) => {
    const child = start(t, program);
    await until("waits", () => waits(child.pid!));
    const exited = exitOf(child);
    child.kill("SIGCHLD");
    await until("received SIGCHLD", () =>
      /SigPnd:\s*0+\nShdPnd:\s*0+\n/i.test(readFileSync(`/proc/${child.pid}/status`, "utf8")),
    );
    child.kill("SIGTERM");
    assert.equal(await exited, 0);
  });

  test("reaps orphans as pid 1, and exits on SIGTERM", {
    skip: process.getuid?.() === 0 ? false : "needs root",
  }, async (t) => {
    // A shell becomes pid 1, leaves orphaned children behind, and becomes pause.
    const script = `(sleep 0.01 & sleep 0.01 &) ; (true &) ; exec ${program}`;
    const child = start(t, "unshare", ["--pid", "--fork", "--kill-child", "sh", "-c", script]);
    const exited = exitOf(child);
    const first = await until("pid 1 of the namespace", () =>
      readProcesses().find((p) => p.parent === child.pid && p.args[0] === program),
    );
    await until("waits", () => waits(first.pid));
    await until("no child left, dead or alive", () => childrenOf(first.pid).length === 0);
    const orphan = start(t, "nsenter", [
      "--target",
      String(first.pid),
      "--pid",
      "sh",
      "-c",
      "(sleep 0.05 &)",
    ]);
    await exitOf(orphan);
    await until("the late orphan was reaped", () => childrenOf(first.pid).length === 0);
    process.kill(first.pid, "SIGTERM");
    assert.equal(await exited, 0);
  });
});

function childrenOf(pid: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcess(Number(name)))
    .filter((p) => p?.parent === pid)
    .map((p) => p!.pid);
}
