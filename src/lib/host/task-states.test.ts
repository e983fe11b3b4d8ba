import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { readTaskStates } from "./task-states.ts";

const none = { sleeping: 0, running: 0, stopped: 0, uninterruptible: 0, iowaiting: 0 };

describe("states of tasks", () => {
  it("threads of all processes are counted by state, except zombies and exited ones", async (t) => {
    const proc = await mkdtemp(join(tmpdir(), "tasks-"));
    t.after(() => rm(proc, { recursive: true }));
    for (const [pid, states] of [
      [7, "RSSD"],
      [8, "TtIZX"],
    ] as const)
      for (const [index, state] of [...states].entries()) {
        const dir = join(proc, String(pid), "task", String(pid + index));
        await mkdir(dir, { recursive: true });
        await writeFile(join(dir, "stat"), `${pid + index} (a) R (b c) ${state} 1 1 1\n`);
      }
    assert.deepEqual(await readTaskStates([7, 8, 9], proc), {
      sleeping: 3,
      running: 1,
      stopped: 2,
      uninterruptible: 1,
      iowaiting: 0,
    });
    assert.deepEqual(await readTaskStates([], proc), none);
  });

  it("a process with thousands of threads does not exhaust file descriptors", async (t) => {
    const proc = await mkdtemp(join(tmpdir(), "tasks-"));
    t.after(() => rm(proc, { recursive: true }));
    const count = 3000;
    for (let task = 0; task < count; task++) {
      const dir = join(proc, "7/task", String(task));
      await mkdir(dir, { recursive: true });
      await writeFile(join(dir, "stat"), `${task} (a) S 1 1 1\n`);
    }
    const openFiles = () => readdirSync("/proc/self/fd").length;
    const before = openFiles();
    let most = before;
    let isDone = false;
    const reading = readTaskStates([7], proc).finally(() => {
      isDone = true;
    });
    while (!isDone) {
      most = Math.max(most, openFiles());
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual(await reading, { ...none, sleeping: count });
    assert.ok(most - before < 100, `${most - before} files are open at the same time`);
  });

  it("a real process sleeps, and stops on SIGSTOP", async (t) => {
    const child = spawn("sleep", ["1000"]);
    t.after(async () => {
      child.kill("SIGKILL");
      await once(child, "exit");
    });
    const becomes = async (expected: object) => {
      for (;;) {
        const states = await readTaskStates([child.pid!]);
        if (JSON.stringify(states) === JSON.stringify({ ...none, ...expected })) return;
      }
    };
    await becomes({ sleeping: 1 });
    child.kill("SIGSTOP");
    await becomes({ stopped: 1 });
  });
});
