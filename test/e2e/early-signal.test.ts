import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { StandaloneAgent } from "../faults/standalone-agent.ts";
import { holds } from "./holds.ts";

test("an agent that waits for a port at its start ends on a signal, without an error", async (t) => {
  const owner = createServer();
  await new Promise<void>((resolve) => owner.listen(0, "127.0.0.1", resolve));
  t.after(() => owner.close());
  const { port } = owner.address() as { port: number };
  const agent = await StandaloneAgent.create();
  t.after(() => agent.destroy());
  agent.start([`--healthz-port=${port}`]);
  await holds(() => assert.match(agent.log(), /Port is in use, waiting for it/));
  assert.deepEqual(await agent.end("SIGTERM"), [0, null]);
  assert.match(agent.log(), /Stopped before startup completed/);
  assert.doesNotMatch(agent.log(), /EADDRINUSE/);
});
