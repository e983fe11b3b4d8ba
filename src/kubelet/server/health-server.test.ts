import assert from "node:assert/strict";
import { request } from "node:http";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import type { Health } from "../../lib/base/component.ts";
import type { KubeletError } from "../../lib/base/errors.ts";
import { FakeClock } from "../../lib/base/fake-clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { HealthServer } from "./health-server.ts";

async function setUp(t: TestContext) {
  const health: Record<string, () => Health> = {
    ping: () => ({ ok: true }),
    pleg: () => ({ ok: true }),
  };
  const information: Record<string, () => Health> = {};
  const checked: string[] = [];
  const stop = new AbortController();
  const server = new HealthServer({
    address: "127.0.0.1",
    port: 0,
    checks: () => Object.entries(health).map(([name, check]) => ({ name, health: check })),
    information: () => Object.entries(information).map(([name, check]) => ({ name, health: check })),
    onChecked: (check, ok) => checked.push(`${check} ${ok}`),
    logger: silentLogger,
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
  return { health, information, send, port, stop, server, checked };
}

const broken = () => ({ ok: false, reason: "no relist for 200s" }) as const;
const table: [
  rule: string,
  method: string,
  path: string,
  status: number,
  body: string,
  brokenStatus: number,
  brokenBody: string,
][] = [
  [
    "all checks pass",
    "GET",
    "/healthz",
    200,
    "ok",
    500,
    "[+]ping ok\n[-]pleg failed: no relist for 200s\nhealthz check failed\n",
  ],
  [
    "with details",
    "GET",
    "/healthz?verbose",
    200,
    "[+]ping ok\n[+]pleg ok\nhealthz check passed\n",
    500,
    "[+]ping ok\n[-]pleg failed: no relist for 200s\nhealthz check failed\n",
  ],
  ["a single check that passes", "GET", "/healthz/ping", 200, "ok", 200, "ok"],
  [
    "a single check that fails",
    "GET",
    "/healthz/pleg",
    200,
    "ok",
    500,
    "[-]pleg failed: no relist for 200s\nhealthz check failed\n",
  ],
  [
    "a slash at the end",
    "GET",
    "/healthz/",
    200,
    "ok",
    500,
    "[+]ping ok\n[-]pleg failed: no relist for 200s\nhealthz check failed\n",
  ],
  ["no body for HEAD", "HEAD", "/healthz", 200, "", 500, ""],
  ["no such check", "GET", "/healthz/nothing", 404, "404 page not found\n", 404, "404 page not found\n"],
  ["no such page", "GET", "/", 404, "404 page not found\n", 404, "404 page not found\n"],
  [
    "an unknown path with a known prefix",
    "GET",
    "/healthzz",
    404,
    "404 page not found\n",
    404,
    "404 page not found\n",
  ],
  [
    "other methods are not allowed",
    "POST",
    "/healthz",
    405,
    "Method Not Allowed\n",
    405,
    "Method Not Allowed\n",
  ],
  ["a malformed URL", "GET", "//", 404, "404 page not found\n", 404, "404 page not found\n"],
  ["another malformed URL", "GET", "//[/healthz", 404, "404 page not found\n", 404, "404 page not found\n"],
];
for (const [rule, method, path, status, body, brokenStatus, brokenBody] of table)
  test(`healthz: ${rule} (${method} ${path})`, async (t) => {
    const { health, send } = await setUp(t);
    assert.deepEqual(await send(path, method), { status, body });
    health.pleg = broken;
    assert.deepEqual(await send(path, method), { status: brokenStatus, body: brokenBody });
    health.pleg = () => ({ ok: true });
    assert.equal((await send(path, method)).status, status);
  });

test("information is listed with ?verbose, and cannot fail the check", async (t) => {
  const { health, send, information, checked } = await setUp(t);
  information.pods = () => ({ ok: true });
  information["pod-config"] = () => ({ ok: false, reason: "file: cannot read /x" });
  information.bad = () => {
    throw new Error("oh");
  };
  const lines = "[i]pods ok\n[i]pod-config not healthy: file: cannot read /x\n[i]bad not healthy: oh\n";
  assert.deepEqual(await send("/healthz"), { status: 200, body: "ok" });
  assert.deepEqual(await send("/healthz?verbose"), {
    status: 200,
    body: `[+]ping ok\n[+]pleg ok\n${lines}healthz check passed\n`,
  });
  assert.equal((await send("/healthz/pod-config")).status, 404);
  assert.deepEqual([...new Set(checked)], ["ping true", "pleg true"]);
  health.pleg = broken;
  const failed = "[+]ping ok\n[-]pleg failed: no relist for 200s\n";
  assert.deepEqual(await send("/healthz"), { status: 500, body: `${failed}healthz check failed\n` });
  const body = `${failed}${lines}healthz check failed\n`;
  assert.deepEqual(await send("/healthz?verbose"), { status: 500, body });
});

test("a check that throws has failed", async (t) => {
  const { health, send } = await setUp(t);
  health.pleg = () => {
    throw new Error("a fault");
  };
  assert.deepEqual(await send("/healthz/pleg"), {
    status: 500,
    body: "[-]pleg failed: a fault\nhealthz check failed\n",
  });
  assert.equal((await send("/healthz/ping")).status, 200);
});

test("the results of all checks are passed on; those of a single check are not", async (t) => {
  const { health, send, checked } = await setUp(t);
  await send("/healthz/pleg");
  assert.deepEqual(checked, []);
  health.pleg = broken;
  await send("/healthz");
  assert.deepEqual(checked, ["ping true", "pleg false"]);
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

test("a port that remains in use is reported", async (t) => {
  const { port } = await setUp(t);
  const clock = new FakeClock();
  const options = { address: "127.0.0.1", port, checks: () => [], logger: silentLogger, clock };
  const second = new HealthServer(options);
  const rejected = assert.rejects(
    second.start(new AbortController().signal),
    (e: KubeletError) => e.code === "Healthz" && e.message.startsWith(`health server on 127.0.0.1:${port}: `),
  );
  const timer = setInterval(() => clock.advance(1000), 1);
  await rejected;
  clearInterval(timer);
});

test("the server waits for a port that is briefly in use", async (t) => {
  const { port, stop } = await setUp(t);
  const logs: string[] = [];
  const logger = { ...silentLogger, info: (message: string) => void logs.push(message) };
  const second = new HealthServer({ address: "127.0.0.1", port, checks: () => [], logger });
  const secondStop = new AbortController();
  t.after(() => secondStop.abort());
  const started = second.start(secondStop.signal);
  while (logs.length === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(logs, ["Port is in use, waiting for it"]);
  stop.abort();
  await started;
  assert.equal(second.port, port);
});

test("no server is started if no port is configured", async () => {
  const server = new HealthServer({ address: "127.0.0.1", port: -1, checks: () => [], logger: silentLogger });
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
