import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { leavesHostUnchanged } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { StandaloneAgent } from "../faults/standalone-agent.ts";
import { kubeletProgram } from "../kubelet-program.ts";
import { rounds } from "../long.ts";

const program = join(import.meta.dirname, "root-dir-holder.ts");

class Holder {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  constructor(rootDir: string) {
    this.#process = spawn(process.execPath, [program, rootDir], { stdio: ["pipe", "pipe", "inherit"] });
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]();
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** The next line of its output. */
  async line(): Promise<string> {
    return String((await this.#lines.next()).value);
  }

  start(): void {
    this.#process.stdin.write("go\n");
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const closed = once(this.#process, "close");
    this.#process.kill(signal);
    await closed;
  }
}

async function directory(t: TestContext): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "root-dir-"));
  t.after(() => rm(dir, { recursive: true }));
  return dir;
}

/** The process that serves the socket. */
function holderOf(rootDir: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = get({ socketPath: join(rootDir, "kubelet.sock"), path: "/pods" }, async (response) => {
      let body = "";
      for await (const part of response) body += part;
      resolve((JSON.parse(body) as { pods: { pid: number }[] }).pods[0]?.pid ?? 0);
    });
    request.on("error", reject);
  });
}

for (const { count, named } of rounds("LOCK_ROUNDS", 8, 200))
  test(named(`exactly one of two concurrent holders runs, ${count} times`), (t) => oneRuns(t, count));

async function oneRuns(t: TestContext, count: number): Promise<void> {
  const rootDir = await directory(t);
  for (let round = 1; round <= count; round++) {
    const both = [new Holder(rootDir), new Holder(rootDir)];
    t.after(() => Promise.all(both.map((holder) => holder.kill())));
    for (const holder of both) assert.equal(await holder.line(), "ready");
    for (const holder of both) holder.start();
    const lines = await Promise.all(both.map((holder) => holder.line()));
    assert.equal(lines.filter((line) => line === "running").length, 1, `round ${round}: ${lines}`);
    const winner = both[lines.indexOf("running")];
    const loser = lines.find((line) => line !== "running") ?? "";
    assert.match(loser, new RegExp(`root directory ${rootDir} is in use by .*process ${winner?.pid}\\b`));
    assert.equal(await holderOf(rootDir), winner?.pid, `round ${round}`);
    // The next round starts with the lock file and socket of a killed process.
    await Promise.all(both.map((holder) => holder.kill()));
  }
}

for (const { count, named } of rounds("LOCK_AGENT_ROUNDS", 1, 5))
  test(named(`exactly one of two concurrently started agents runs, ${count} times`), (t) =>
    oneAgentRuns(t, count),
  );

/** The second agent waits for a while, in case the first is stopping. */
async function oneAgentRuns(t: TestContext, count: number): Promise<void> {
  const agent = await StandaloneAgent.create();
  t.after(() => agent.destroy());
  const flags = [
    `--config=${join(agent.dir, "kubelet.json")}`,
    `--root-dir=${agent.rootDir}`,
    ...leavesHostUnchanged,
  ];
  for (let round = 1; round <= count; round++) {
    const both = [1, 2].map(() =>
      spawn(process.execPath, [kubeletProgram, ...flags, "--hostname-override=node-a", "--healthz-port=0"], {
        stdio: ["ignore", "ignore", "pipe"],
      }),
    );
    t.after(() => both.map((child) => child.kill("SIGKILL")));
    const logs = both.map((child) => text(child.stderr));
    const exits = both.map((child) => once(child, "exit").then(() => child));
    const loser = await Promise.race(exits);
    const winner = both.find((child) => child !== loser);
    assert.equal(loser.exitCode, 1, `round ${round}`);
    const log = await logs[both.indexOf(loser)];
    assert.match(log ?? "", /Root directory is in use, waiting for the other kubelet to exit/);
    assert.match(
      log ?? "",
      new RegExp(`root directory ${agent.rootDir} is in use by another kubelet \\(process ${winner?.pid}\\)`),
    );
    assert.doesNotMatch(log ?? "", /Started kubelet/);
    await agent.ready();
    assert.equal(winner?.exitCode, null, "the first agent is no longer running");
    winner?.kill("SIGKILL");
    await Promise.all(exits);
  }
}

test("an agent that is started while its predecessor stops waits for it", async (t) => {
  const agent = await StandaloneAgent.create();
  t.after(() => agent.destroy());
  const first = new Holder(agent.rootDir);
  t.after(() => first.kill());
  assert.equal(await first.line(), "ready");
  first.start();
  assert.equal(await first.line(), "running");
  agent.start();
  await waitFor(() =>
    assert.match(agent.log(), /Root directory is in use, waiting for the other kubelet to exit/),
  );
  await first.kill();
  await agent.ready();
});
