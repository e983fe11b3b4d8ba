import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { StandaloneAgent } from "../faults/standalone-agent.ts";
import { long } from "../long.ts";
import { waitFor } from "./wait-for.ts";

/** The number of starts. Each gets the signal at another point of its startup. */
const rounds = 30;

test("an agent that waits for a port during startup exits on a signal, without an error", async (t) => {
  const owner = createServer();
  await new Promise<void>((resolve) => owner.listen(0, "127.0.0.1", resolve));
  t.after(() => owner.close());
  const { port } = owner.address() as { port: number };
  const agent = await StandaloneAgent.create();
  t.after(() => agent.destroy());
  agent.start(["--address=127.0.0.1", `--read-only-port=${port}`]);
  await waitFor(() => assert.match(agent.log(), /Port is in use, waiting for it/));
  assert.deepEqual(await agent.end("SIGTERM"), [0, null]);
  assert.match(agent.log(), /Stopped before startup completed/);
  assert.doesNotMatch(agent.log(), /EADDRINUSE/);
});

test("SIGUSR1 does not make the agent listen for a debugger", async (t) => {
  const agent = await StandaloneAgent.create();
  t.after(() => agent.destroy());
  agent.start(["--enable-manifests-handler"]);
  await agent.ready();
  agent.signal("SIGUSR1");
  await agent.ready();
  assert.deepEqual(await agent.end("SIGTERM"), [0, null]);
  // Node.js reports it before it handles the next signal.
  assert.doesNotMatch(agent.log(), /Debugger/);
});

test(long("an agent exits on a signal at any time during startup"), async (t) => {
  const agent = await StandaloneAgent.create();
  t.after(() => agent.destroy());
  const flags = ["-v=2", "--enable-manifests-handler"];
  const started = () => agent.log().split('"Started" component=').length - 1;
  const startAgent = async () => {
    agent.start(flags);
    const before = started();
    await waitFor(() => assert.ok(started() > before));
  };
  await startAgent();
  const since = performance.now();
  await agent.ready();
  const startupMs = performance.now() - since;
  await agent.end("SIGTERM");
  for (let round = 0; round < rounds; round++) {
    await startAgent();
    await pause((startupMs * round) / rounds);
    assert.deepEqual(await agent.end("SIGTERM"), [0, null]);
    assert.doesNotMatch(agent.log(), /did not stop in time/);
  }
  assert.match(agent.log(), /Stopped before startup completed/);
});
