import assert from "node:assert/strict";
import { connect, createServer } from "node:net";
import { test } from "node:test";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { listen, listenOnce } from "./listen.ts";

test("attempts to listen on a port that is in use leave nothing behind", async (t) => {
  const owner = createServer();
  await new Promise<void>((resolve) => owner.listen(0, "127.0.0.1", resolve));
  t.after(() => owner.close());
  const { port } = owner.address() as { port: number };
  const server = createServer();
  const clock = new FakeClock();
  const parts = { port, clock, logger: silentLogger, signal: new AbortController().signal, name: "test" };
  let attempts = 0;
  server.on("error", () => attempts++);
  const rejected = assert.rejects(listen(server, { address: "127.0.0.1", ...parts }), /EADDRINUSE/);
  const timer = setInterval(() => clock.advance(1000), 1);
  await rejected;
  clearInterval(timer);
  assert.ok(attempts > 1, `${attempts} attempts`);
  assert.equal(server.listenerCount("listening"), 0);
  assert.equal(server.listenerCount("error"), 1);
});

// parity: field address as address
for (const [address, accepts] of [
  ["0.0.0.0", ["127.0.0.1", "::1"]],
  ["::", ["127.0.0.1", "::1"]],
  ["127.0.0.1", ["127.0.0.1"]],
  ["::1", ["::1"]],
] as const)
  test(`a server on ${address} accepts connections to ${accepts.join(" and ")}`, async (t) => {
    const server = createServer((socket) => socket.end());
    t.after(() => server.close());
    await listenOnce(server, address, 0);
    const { port } = server.address() as { port: number };
    for (const host of ["127.0.0.1", "::1"]) {
      const connected = new Promise<boolean>((resolve) => {
        const socket = connect({ host, port }, () => resolve(true));
        socket.on("error", () => resolve(false)).resume();
      });
      assert.equal(await connected, (accepts as readonly string[]).includes(host), host);
    }
  });
