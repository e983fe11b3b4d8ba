import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { listen } from "./listen.ts";

test("attempts to listen on a port that is in use leave nothing behind", async (t) => {
  const owner = createServer();
  await new Promise<void>((resolve) => owner.listen(0, "127.0.0.1", resolve));
  t.after(() => owner.close());
  const { port } = owner.address() as { port: number };
  const server = createServer();
  const clock = new FakeClock();
  const parts = { clock, logger: silentLogger, signal: new AbortController().signal, name: "test" };
  let attempts = 0;
  server.on("error", () => attempts++);
  const rejected = assert.rejects(listen(server, { host: "127.0.0.1", port }, parts), /EADDRINUSE/);
  const timer = setInterval(() => clock.advance(1000), 1);
  await rejected;
  clearInterval(timer);
  assert.ok(attempts > 1, `${attempts} attempts`);
  assert.equal(server.listenerCount("listening"), 0);
  assert.equal(server.listenerCount("error"), 1);
});
