import assert from "node:assert/strict";
import { request } from "node:http";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import { eventually } from "../../../test/contracts/eventually.ts";
import { systemClock } from "../../lib/base/clock.ts";
import type { Health } from "../../lib/base/component.ts";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { HealthServer } from "./health-server.ts";

async function setUp(t: TestContext) {
  const information: Record<string, () => Health> = {};
  const checked: string[] = [];
  const stop = new AbortController();
  const server = new HealthServer({
    address: "127.0.0.1",
    port: 0,
    information: () => Object.entries(information).map(([name, check]) => ({ name, health: check })),
    onChecked: (check, ok) => checked.push(`${check} ${ok}`),
    logger: silentLogger,
    clock: systemClock,
  });
  await server.start(stop.signal);
  t.after(async () => {
    stop.abort();
    await server.done;
  });
  const port = server.port!;
  const send = (path: string, method = "GET") =>
    new Promise<{ status: number; body: string }>((resolve, reject) => {
      const call = request({ host: "127.0.0.1", port, path, method, agent: false }, (response) => {
        let body = "";
        response.setEncoding("utf8");
        response.on("data", (part: string) => {
          body += part;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
      });
      call.on("error", reject);
      call.end();
    });
  return { information, send, port, stop, server, checked };
}

const notFound = "404 page not found\n";
const table: [rule: string, method: string, path: string, status: number, body: string][] = [
  ["a process that responds is healthy", "GET", "/healthz", 200, "ok"],
  ["the only check is ping", "GET", "/healthz?verbose", 200, "[+]ping ok\nhealthz check passed\n"],
  ["ping has its own path", "GET", "/healthz/ping", 200, "ok"],
  ["no body for HEAD", "HEAD", "/healthz", 200, ""],
  ["all methods are accepted", "POST", "/healthz", 200, "ok"],
  ["a slash at the end is another path", "GET", "/healthz/", 404, notFound],
  ["checks of the kubelet API are not served here", "GET", "/healthz/syncloop", 404, notFound],
  ["no such page", "GET", "/", 404, notFound],
  ["an unknown path with a known prefix", "GET", "/healthzz", 404, notFound],
  ["a malformed URL", "GET", "//", 404, notFound],
  ["another malformed URL", "GET", "//[/healthz", 404, notFound],
];
// parity: endpoint 10248 GET /healthz
for (const [rule, method, path, status, body] of table)
  test(`healthz: ${rule} (${method} ${path})`, async (t) => {
    const { send } = await setUp(t);
    assert.deepEqual(await send(path, method), { status, body });
  });

test("a component that is not healthy is listed with ?verbose and fails nothing", async (t) => {
  const { send, information, checked } = await setUp(t);
  information.pleg = () => ({ ok: false, reason: "no relist for 200s" });
  assert.deepEqual(await send("/healthz"), { status: 200, body: "ok" });
  assert.deepEqual(await send("/healthz?verbose"), {
    status: 200,
    body: "[+]ping ok\n[i]pleg not healthy: no relist for 200s\nhealthz check passed\n",
  });
  assert.deepEqual(checked, ["ping true", "ping true"]);
});

test("a request for another host, or a malformed one, does not end the server", async (t) => {
  const { send, port } = await setUp(t);
  for (const line of ["GET http://[ HTTP/1.1", "GET http://elsewhere/healthz HTTP/1.1", "NONSENSE"]) {
    const socket = connect(port, "127.0.0.1");
    socket.write(`${line}\r\nHost: x\r\nConnection: close\r\n\r\n`);
    socket.resume();
    await new Promise((resolve) => socket.on("close", resolve));
  }
  assert.equal((await send("/healthz")).status, 200);
});

// parity: field healthzBindAddress as address, field healthzPort as port
test("a port in use is retried every 5 s, and the agent starts without it", async (t) => {
  const { port, stop, server } = await setUp(t);
  const errors: string[] = [];
  const logger = { ...silentLogger, error: (message: string) => void errors.push(message) };
  const clock = new FakeClock();
  const second = new HealthServer({ address: "127.0.0.1", port, logger, clock });
  const secondStop = new AbortController();
  await second.start(secondStop.signal);
  assert.equal(second.port, undefined);
  await clock.advance(5000);
  await eventually(() => (errors.length === 2 ? true : undefined));
  assert.deepEqual(new Set(errors), new Set(["Failed to start healthz server, will retry"]));
  stop.abort();
  await server.done;
  await clock.advance(5000);
  await eventually(() => second.port);
  assert.equal(second.port, port);
  secondStop.abort();
  await second.done;
});

test("a server that waits for its port stops", async (t) => {
  const { port } = await setUp(t);
  const clock = new FakeClock();
  const second = new HealthServer({ address: "127.0.0.1", port, logger: silentLogger, clock });
  const stop = new AbortController();
  await second.start(stop.signal);
  stop.abort();
  await second.done;
});

test("no server is started if no port is configured", async () => {
  const server = new HealthServer({
    address: "127.0.0.1",
    port: -1,
    logger: silentLogger,
    clock: systemClock,
  });
  await server.start(new AbortController().signal);
  await server.done;
  assert.equal(server.port, undefined);
});

test("the server stops even if a client keeps its connection open", async (t) => {
  const { port, stop, server } = await setUp(t);
  const socket = connect(port, "127.0.0.1");
  const closed = new Promise((resolve) => socket.on("close", resolve));
  socket.on("error", () => {});
  await new Promise((resolve) => socket.on("connect", resolve));
  stop.abort();
  await server.done;
  await closed;
});
