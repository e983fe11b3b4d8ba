import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { waitFor } from "../e2e/wait-for.ts";
import { createNetwork, removeNetwork } from "./machine-network.ts";
import { describeOnMachine } from "./on-machine.ts";

describeOnMachine("a test process that is killed", () => {
  test("takes its guest with it, and the next one removes what is left", async (t) => {
    const program = join(import.meta.dirname, "boot-program.ts");
    const child = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
    t.after(() => child.kill("SIGKILL"));
    const failed = once(child, "exit").then(([code]) => assert.fail(`no guest: exit code ${code}`));
    const [line] = (await Promise.race([once(createInterface(child.stdout), "line"), failed])) as [string];
    failed.catch(() => {});
    const guest = () => processesOf(`ifname=${line},`);
    assert.notDeepEqual(guest(), []);
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    // Until then its directory in /proc exists, by which the next one finds the owner of a link.
    await exited;
    await waitFor(() => assert.deepEqual(guest(), []), 120_000);
    removeNetwork(createNetwork());
    assert.equal(readdirSync("/sys/class/net").includes(line), false);
  });
});

/** The processes of this machine that have this in their command line. */
function processesOf(part: string): string[] {
  return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && commandLine(pid).includes(part));
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return ""; // exited in the meantime
  }
}
