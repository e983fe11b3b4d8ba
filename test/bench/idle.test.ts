import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { built, launcherFile } from "../e2e/built.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { ClusterAgent } from "./cluster-agent.ts";

/** Measured: 62 to 68 MiB; 100 to 120 without --optimize-for-size. */
const limitMiB = 80;

test(`an agent that started and removed 30 pods uses at most ${limitMiB} MiB more than Node.js alone`, {
  skip: built !== true && built,
}, async (t) => {
  const program = "console.log(process.memoryUsage.rss())";
  const bareMiB = Number(execFileSync(process.execPath, ["-e", program], { encoding: "utf8" })) / 1024 ** 2;
  const agent = await ClusterAgent.start(launcherFile);
  t.after(() => agent.stop());
  await agent.run("burst", 30);
  await agent.remove("burst", 30);
  await agent.run("idle", 5);
  // V8 returns this memory when it is idle.
  await waitFor(() => {
    const idle = agent.residentMiB();
    assert.ok(idle - bareMiB <= limitMiB, `${idle} MiB, Node.js alone ${bareMiB} MiB`);
    t.diagnostic(`${idle.toFixed(1)} MiB, Node.js alone ${bareMiB.toFixed(1)} MiB`);
  }, 120_000);
});
