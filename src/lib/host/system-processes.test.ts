import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { systemProcesses } from "./system-processes.ts";

const processes = systemProcesses();

describe("kinds of processes", () => {
  it("a process with an executable is not a kernel thread, one without is", async (t) => {
    assert.equal(await processes.isKernelThread(process.pid), false);
    assert.equal(await processes.isKernelThread(2 ** 30), true, "a process that has exited");
    const thread = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .find((pid) => {
        try {
          return readFileSync(`/proc/${pid}/status`, "utf8").includes("\nPPid:\t2\n");
        } catch {
          return false;
        }
      });
    if (thread === undefined) t.diagnostic("kernel threads are not visible here");
    else assert.equal(await processes.isKernelThread(Number(thread)), true);
  });

  const skip = process.getuid?.() === 0 ? false : "only root can create PID namespaces";
  it("a process in a PID namespace of its own is not one of the host", { skip }, async (t) => {
    const parent = spawn("unshare", ["--pid", "--fork", "--kill-child", "sleep", "1000"]);
    t.after(async () => {
      parent.kill("SIGKILL");
      await once(parent, "exit");
    });
    const child = () =>
      execFileSync("cat", [`/proc/${parent.pid}/task/${parent.pid}/children`], { encoding: "utf8" }).trim();
    while (child() === "") await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await processes.isInHostPidNamespace(Number(child())), false);
    assert.equal(await processes.isInHostPidNamespace(process.pid), true);
  });
});
