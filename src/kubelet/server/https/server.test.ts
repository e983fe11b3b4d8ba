import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { get } from "node:http";
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import { connect as connectPlain } from "node:net";
import { after, before, describe, type TestContext, test } from "node:test";
import { connect } from "node:tls";
import fc from "fast-check";
import { eventually } from "../../../../test/contracts/eventually.ts";
import { type AccessFilter, allowAll } from "../auth/node-access.ts";
import { fakeNodeRoutes } from "../fake-node.ts";
import {
  rawTls,
  reloadable,
  send,
  startServer,
  type TestServer,
  testAuthority,
  testPair,
} from "../fixtures.ts";
import { HttpError } from "../http-error.ts";
import type { Exchange, Route } from "../route.ts";
import { readBody } from "./body.ts";
import type { Limits } from "./server.ts";

const route = (path: string, handle: (exchange: Exchange) => Promise<void>, method = "GET"): Route => ({
  method,
  path,
  handle,
  attributes: () => ({ verb: "get", subresources: [] }),
});

let [inProgress, most] = [0, 0];
const broken = Promise.withResolvers<unknown>();
const ca = testAuthority();
const certificate = reloadable(testPair(ca, "first"));
let server: TestServer;
let left: () => void = () => {};
const gone = new Promise<void>((resolve) => {
  left = resolve;
});

before(async () => {
  server = await startServer({
    certificate,
    access: allowAll,
    routes: [
      ...fakeNodeRoutes({ url: () => "http://127.0.0.1:1/" }),
      route("/throws", () => Promise.reject(new Error("simulated failure"))),
      route("/halfway", async ({ response }) => {
        response.write("half");
        throw new Error("simulated failure");
      }),
      route("/endless", async ({ response, signal }) => {
        response.write("begun");
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        left();
      }),
      route("/body", async ({ request, response }) => void response.end(await readBody(request, 10)), "PUT"),
      route("/broken", ({ request }) => readBody(request, 10).then(broken.resolve, broken.reject), "PUT"),
      route("/counted", async ({ response }) => {
        most = Math.max(most, ++inProgress);
        await new Promise((resolve) => setImmediate(resolve));
        inProgress--;
        response.end("x");
      }),
      route("/large", async ({ response }) => void response.end("x".repeat(2_000_000))),
    ],
  });
});

after(() => server.stop());

const subject = () =>
  new Promise<string>((resolve) => {
    const socket = connect({ host: "127.0.0.1", port: server.port, rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
  });

describe("the server", () => {
  test("uses the new certificate for new connections, and ignores an invalid one", async () => {
    assert.equal(await subject(), "first");
    certificate.set(testPair(ca, "second"));
    assert.equal(await subject(), "second");
    certificate.set({ cert: "nonsense", key: "nonsense" });
    assert.equal(await subject(), "second");
  });

  test("a handler that throws affects that request only", async () => {
    assert.deepEqual(await send(server.port, "/throws").then(({ status, body }) => [status, body]), [
      500,
      "simulated failure\n",
    ]);
    assert.equal((await send(server.port, "/healthz")).body, "ok");
  });

  test("a failed response is reset, not ended: a client can detect that it is incomplete", async () => {
    await assert.rejects(send(server.port, "/halfway"));
  });

  test("a handler is notified when its client disconnects", async () => {
    const socket = connect({ host: "127.0.0.1", port: server.port, rejectUnauthorized: false }, () =>
      socket.write("GET /endless HTTP/1.1\r\nhost: x\r\n\r\n"),
    );
    socket.once("data", () => socket.destroy());
    await gone;
  });

  test("bodies have a limit", async () => {
    const put = (body: string) => send(server.port, "/body", { method: "PUT", body });
    assert.deepEqual(
      [(await put("0123456789")).body, (await put("0123456789a")).status],
      ["0123456789", 413],
    );
    const chunked = await send(server.port, "/body", {
      method: "PUT",
      body: "x".repeat(100_000),
      headers: { "transfer-encoding": "chunked", expect: "100-continue" },
    });
    assert.equal(chunked.status, 413);
  });

  test("pipelined requests are served in order", async () => {
    const one = "GET /healthz/ping HTTP/1.1\r\nhost: x\r\n\r\n";
    const count = (text: string) => text.split("HTTP/1.1 200 OK").length - 1;
    const text = await rawTls(server.port, one.repeat(50), { until: (t) => count(t) === 50 });
    assert.equal(count(text), 50);
  });

  test("requests that arrive during a long response are served after it", async () => {
    const one = "GET /large HTTP/1.1\r\nhost: x\r\n\r\n";
    const responses = await new Promise<number>((resolve) => {
      let [sent, received] = [0, 0];
      const socket = connect({ host: "127.0.0.1", port: server.port, rejectUnauthorized: false }, () =>
        more(),
      );
      const more = () => {
        if (sent++ < 10) socket.write(one + one, () => setTimeout(more, 5));
      };
      socket.on("data", (chunk: Buffer) => {
        received += chunk.toString("latin1").split("HTTP/1.1 200 OK").length - 1;
        if (received === 20) socket.destroy();
      });
      socket.on("error", () => {}).on("close", () => resolve(received));
    });
    assert.equal(responses, 20);
  });

  test("pipelined requests are handled one at a time, and too many close the connection", async () => {
    const one = "GET /counted HTTP/1.1\r\nhost: x\r\n\r\n";
    const responses = (text: string) => text.split("HTTP/1.1 200 OK").length - 1;
    const text = await rawTls(server.port, one.repeat(20), { until: (t) => responses(t) === 20 });
    assert.deepEqual([responses(text), most], [20, 1]);
    const endless = "GET /endless HTTP/1.1\r\nhost: x\r\n\r\n";
    assert.ok(responses(await rawTls(server.port, endless + one.repeat(300))) <= 1);
  });

  test("a truncated body is not treated as complete, with HTTP/2 either", async () => {
    const session = connectHttp2(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false });
    session.on("error", () => {});
    const stream = session.request({ ":path": "/broken", ":method": "PUT" });
    stream.on("error", () => {});
    stream.write("half", () => session.destroy());
    await assert.rejects(broken.promise, { status: 400 });
  });

  test("CONNECT is rejected with HTTP/2 too", async () => {
    const session = connectHttp2(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false });
    const stream = session.request({ ":method": "CONNECT", ":authority": "evil.example:443" });
    const [headers] = await once(stream, "response");
    assert.equal(headers[":status"], 405);
    session.destroy();
  });

  test("an upgrade behind a pending request closes that connection only", async () => {
    const upgrade = "GET /pods HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n";
    await rawTls(server.port, `GET /endless HTTP/1.1\r\nhost: x\r\n\r\n${upgrade}`);
    assert.equal((await send(server.port, "/healthz")).status, 200);
  });
});

test("whatever paths, queries and headers are sent, nothing throws and the next request is served", async () => {
  const segment = fc.constantFrom(
    ...["pods", "exec", "attach", "portForward", "run", "default", "web", "app", "healthz", "debug", "flags"],
    ...["v", "pprof", "checkpoint", "..", "%2e%2e", "%00", "", "é", "%ff", "a".repeat(300), "__proto__"],
  );
  const path = fc.array(segment, { maxLength: 6 }).map((segments) => `/${segments.join("/")}`);
  const query = fc.array(
    fc.tuple(fc.constantFrom("command", "input", "output", "tty", "port", "cmd"), fc.string()),
    {
      maxLength: 4,
    },
  );
  const value = fc.oneof(fc.constantFrom("Upgrade", "websocket", "SPDY/3.1", "13", "close"), fc.string());
  const name = fc.constantFrom(
    "connection",
    "upgrade",
    "sec-websocket-key",
    "sec-websocket-version",
    "x",
    "accept",
  );
  const headers = fc.array(fc.tuple(name, value), { maxLength: 6 });
  const method = fc.constantFrom("GET", "POST", "PUT", "HEAD", "OPTIONS", "BREW");
  await fc.assert(
    fc.asyncProperty(method, path, query, headers, async (verb, where, pairs, lines) => {
      const search = pairs
        .map(([key, text]) => `${key}=${encodeURIComponent(text.toWellFormed())}`)
        .join("&");
      const head = lines.map(([key, text]) => `${key}: ${text}\r\n`).join("");
      const bytes = `${verb} ${where}?${search} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${head}\r\n`;
      const response = await rawTls(server.port, Buffer.from(bytes), {
        until: (text) => text.includes("\r\n\r\n"),
      });
      assert.match(response, /^HTTP\/1\.1 [1-5]\d\d /, JSON.stringify(bytes));
    }),
    { numRuns: 300, ...(process.env.FUZZ_SEED && { seed: Number(process.env.FUZZ_SEED) }) },
  );
  assert.equal((await send(server.port, "/healthz")).body, "ok");
});

test("the read-only port serves plain HTTP, and stops while a client is connected", async () => {
  const open = await startServer({
    access: allowAll,
    plain: true,
    routes: [route("/endless", ({ response }) => new Promise(() => void response.write("begun")))],
  });
  const closed = new Promise((resolve) =>
    get({ host: "127.0.0.1", port: open.port, path: "/endless" }, (response) => {
      response.once("data", () => void open.stop());
      response.on("error", resolve);
    }).on("error", resolve),
  );
  await closed;
});

test("HTTP/2: a connection is kept while a response is pending, and closed when idle", async (t) => {
  const own = await startServer({
    access: allowAll,
    limits: { idleMs: 100 },
    routes: [route("/endless", ({ response }) => new Promise(() => void response.write("begun")))],
  });
  t.after(() => own.stop());
  const open = () => connectHttp2(`https://127.0.0.1:${own.port}`, { rejectUnauthorized: false });
  const waiting = open();
  const stream = waiting.request({ ":path": "/endless" });
  await once(stream, "data");
  for (let round = 0; round < 2; round++) {
    const session = open();
    await once(session.request({ ":path": "/nowhere" }).resume(), "end");
    await once(session, "close");
  }
  assert.ok(!waiting.closed);
  stream.close();
  await once(waiting, "close");
});

test("keep-alive probes: a client that vanished does not occupy a slot", async (t) => {
  const own = await startServer({ access: allowAll, routes: [] });
  t.after(() => own.stop());
  const socket = connect({ host: "127.0.0.1", port: own.port, rejectUnauthorized: false });
  t.after(() => socket.destroy());
  await once(socket, "secureConnect");
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, "0");
  const ends = `0100007F:${hex(own.port)} 0100007F:${hex(socket.localPort ?? 0)}`;
  // The timer is 02 for keep-alive; 01 and 04 while data is in flight.
  const timer = () =>
    readFileSync("/proc/net/tcp", "utf8")
      .split("\n")
      .find((line) => line.includes(ends))
      ?.trim()
      .split(/\s+/)[5]
      ?.slice(0, 2);
  await eventually(() => (["00", "02"].includes(timer() ?? "") ? true : undefined));
  assert.equal(timer(), "02");
});

test("a client that does not read its response is disconnected, one that waits for more is not", async (t) => {
  let closed = 0;
  const own = await startServer({
    access: allowAll,
    limits: { stallMs: 200 },
    routes: [
      route("/large", async ({ response }) => {
        response.once("close", () => closed++).end(Buffer.alloc(50_000_000));
      }),
      route("/quiet", ({ response }) => new Promise(() => void response.write("begun"))),
    ],
  });
  t.after(() => own.stop());
  const options = { host: "127.0.0.1", port: own.port, rejectUnauthorized: false };
  const [waits, stalls] = [connect(options), connect(options)];
  t.after(() => waits.destroy());
  waits.write("GET /quiet HTTP/1.1\r\nhost: x\r\n\r\n");
  await once(waits, "data");
  stalls.on("error", () => {}).write("GET /large HTTP/1.1\r\nhost: x\r\n\r\n");
  await eventually(() => (closed === 1 ? true : undefined));
  assert.equal(own.server.connections, 1);
  const session = connectHttp2(`https://127.0.0.1:${own.port}`, { rejectUnauthorized: false });
  t.after(() => session.destroy());
  const follows = session.request({ ":path": "/quiet" });
  await once(follows, "data");
  session.request({ ":path": "/large" }).on("error", () => {});
  await eventually(() => (closed === 2 ? true : undefined));
  assert.deepEqual([follows.closed, waits.closed], [false, false]);
  stalls.destroy();
});

test("many idle connections keep no client out", async (t) => {
  const small = await startServer({
    routes: fakeNodeRoutes({ url: () => "" }),
    access: allowAll,
    limits: { connections: 50 },
  });
  t.after(() => small.stop());
  const sockets = Array.from({ length: 300 }, (_, i) =>
    i % 3 === 0
      ? connectPlain(small.port, "127.0.0.1").on("error", () => {})
      : connect({ host: "127.0.0.1", port: small.port, rejectUnauthorized: false }).on("error", () => {}),
  );
  for (let i = 0; i < 5; i++) assert.equal((await send(small.port, "/pods")).status, 200);
  assert.ok(small.server.connections <= 50);
  for (const socket of sockets) socket.destroy();
});

test("streams of clients with access are not closed for others, and keep no client out", async (t) => {
  const own = await startServer({
    access: { authorize: async () => ({ name: "jane", groups: [] }) },
    limits: { connections: 2 },
    routes: [
      route("/endless", ({ response }) => new Promise(() => void response.write("begun"))),
      route("/short", async ({ response }) => void response.end("x")),
    ],
  });
  t.after(() => own.stop());
  const followers: ClientHttp2Stream[] = [];
  for (let i = 0; i < 5; i++) {
    const session = connectHttp2(`https://127.0.0.1:${own.port}`, { rejectUnauthorized: false });
    t.after(() => session.destroy());
    const follower = session.request({ ":path": "/endless" }).on("error", () => {});
    session.on("error", () => {});
    await once(follower, "data");
    followers.push(follower);
  }
  for (let i = 0; i < 3; i++) assert.equal((await send(own.port, "/short")).status, 200);
  assert.deepEqual(
    followers.filter(({ closed }) => closed),
    [],
  );
});

describe("clients without credentials", () => {
  const access: AccessFilter = { authorize: () => Promise.reject(new HttpError(401, "Unauthorized")) };
  const routes = [
    route("/a", async () => {}),
    // A route without authorization, like the login of the console.
    {
      ...route("/login", async ({ request }) => void (await readBody(request, 10)), "POST"),
      checksAccess: true as const,
    },
  ];

  async function guarded(t: TestContext, limits: Partial<Limits>) {
    const own = await startServer({ access, routes, limits });
    const sessions: ClientHttp2Session[] = [];
    t.after(() => {
      for (const session of sessions) session.destroy();
      return own.stop();
    });
    /** Requests of one connection whose responses have no body, because the client extends no window. */
    const unread = async (count: number): Promise<ClientHttp2Stream[]> => {
      const options = { rejectUnauthorized: false, settings: { initialWindowSize: 0 } };
      const session = connectHttp2(`https://127.0.0.1:${own.port}`, options).on("error", () => {});
      sessions.push(session);
      const streams = Array.from({ length: count }, () =>
        session.request({ ":path": "/a" }).on("error", () => {}),
      );
      await Promise.all(streams.map((stream) => once(stream, "response")));
      return streams;
    };
    return { own, unread };
  }

  test("that do not read their responses do not keep others from connecting", async (t) => {
    const { own, unread } = await guarded(t, { connections: 10 });
    for (let i = 0; i < 10; i++) await unread(1);
    assert.equal(own.server.connections, 10);
    assert.equal((await send(own.port, "/a")).status, 401);
  });

  test("that do not send the body of a login do not keep others from connecting", async (t) => {
    const { own } = await guarded(t, { connections: 10 });
    const head = "POST /login HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nx";
    for (let i = 0; i < 10; i++) {
      const socket = connect({ host: "127.0.0.1", port: own.port, rejectUnauthorized: false });
      t.after(() => socket.destroy());
      await once(
        socket.on("error", () => {}),
        "secureConnect",
      );
      await new Promise<void>((resolve) => socket.write(head, () => resolve()));
    }
    assert.equal((await send(own.port, "/a")).status, 401);
  });

  test("have a limited number of unread responses, of which the oldest are dropped", async (t) => {
    const { unread } = await guarded(t, { unreadResponses: 20 });
    const first = await unread(15);
    const second = await unread(15);
    const dropped = () => first.filter(({ destroyed }) => destroyed).length;
    await eventually(() => (dropped() === 10 ? true : undefined));
    assert.ok(second.every(({ destroyed }) => !destroyed));
  });
});
