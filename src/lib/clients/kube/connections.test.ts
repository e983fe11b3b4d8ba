import assert from "node:assert/strict";
import type { ServerHttp2Session } from "node:http2";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { describe, it } from "node:test";
import {
  base64,
  fixture,
  type Handler,
  json,
  kubeconfig,
  TestApiServer,
} from "../../../../test/kube/api-server.ts";
import { FakeClock } from "../../base/fake-clock.ts";
import { KubeApiError, TransportError } from "./api-error.ts";
import { parseKubeconfig } from "./kubeconfig.ts";
import { HttpKubeTransport, type TransportOptions } from "./transport.ts";

const never = new AbortController().signal;
const authority = { "certificate-authority-data": base64(fixture("ca.pem")) };

function client(t: TestContext, url: string, options: Partial<TransportOptions> = {}): HttpKubeTransport {
  const access = parseKubeconfig(kubeconfig({ server: url, ...authority }, { token: "t" }), "/k");
  const transport = new HttpKubeTransport({
    access,
    userAgent: "test",
    qps: 0,
    burst: 0,
    env: {},
    ...options,
  });
  t.after(() => transport.close());
  return transport;
}

async function serve(t: TestContext, handler: Handler, settings = {}): Promise<TestApiServer> {
  const server = await TestApiServer.start("h2", handler, settings);
  t.after(() => server.close());
  return server;
}

/** A relay in front of the server. While it is frozen, connections stay open but no data is forwarded. */
async function startRelay(t: TestContext, port: number) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    const upstream = connect(port, "127.0.0.1");
    for (const end of [socket, upstream]) {
      end.on("error", () => {});
      sockets.push(end);
    }
    socket.pipe(upstream);
    upstream.pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const freeze = () => {
    for (const socket of sockets) socket.unpipe().pause();
  };
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, freeze };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

async function failure(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => assert.fail("did not fail"),
    (error: unknown) => error as Error,
  );
}

const watchOrRespond: Handler = (request, response) => {
  if (!request.url?.startsWith("/watch")) return json(response, 200, {});
  response.writeHead(200);
  response.write("begun\n");
};

async function begin(transport: HttpKubeTransport) {
  const stream = await transport.stream({ path: "/watch", signal: never });
  const reader = stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  await reader.next();
  return reader;
}

describe("a server that was unavailable", { timeout: 30_000 }, () => {
  for (const protocol of ["h2", "http"] as const)
    it(`is reported with the first connection after one that failed, over ${protocol}`, async (t) => {
      const first = await TestApiServer.start(protocol, watchOrRespond);
      const transport = client(t, first.url);
      const sharing = HttpKubeTransport.sharing(transport, { qps: 0, burst: 0 });
      let notified = 0;
      const stopListening = sharing.onReconnect(() => notified++);
      const get = () => transport.request({ method: "GET", path: "/" });
      await get();
      await first.close();
      for (let i = 0; i < 2; i++) await failure(get());
      assert.equal(notified, 0);
      const second = await TestApiServer.start(protocol, watchOrRespond, {}, first.port);
      t.after(() => second.close());
      await Promise.all([get(), get(), begin(transport)]);
      assert.equal(notified, 1);
      stopListening();
      await second.close();
      await failure(get());
      const third = await TestApiServer.start(protocol, watchOrRespond, {}, first.port);
      t.after(() => third.close());
      await get();
      assert.equal(notified, 1, "no listener is left");
    });
});

describe("HTTP/2 connections", { timeout: 30_000 }, () => {
  it("a response is whole, even if all of it has arrived before it is read", async (t) => {
    const sent = { items: ["a".repeat(70_000)] };
    const server = await serve(t, (_, response) => json(response, 200, sent));
    const transport = client(t, server.url);
    const chunks = await transport.stream({ path: "/", signal: never });
    // The next one of the same connection has arrived after it.
    await transport.request({ method: "GET", path: "/" });
    assert.equal(server.sockets.length, 1);
    const received: Uint8Array[] = [];
    for await (const chunk of chunks) received.push(chunk);
    assert.deepEqual(JSON.parse(Buffer.concat(received).toString()), sent);
  });

  it("a server with a low stream limit gets more connections", async (t) => {
    const server = await serve(t, watchOrRespond, { maxConcurrentStreams: 2 });
    const transport = client(t, server.url);
    await Promise.all(Array.from({ length: 5 }, () => begin(transport)));
    await transport.request({ method: "GET", path: "/" });
    assert.equal(server.sockets.length, 3);
  });

  it("connection attempts to a server that allows no streams end", async (t) => {
    const server = await serve(t, watchOrRespond, { maxConcurrentStreams: 0 });
    const error = await failure(client(t, server.url).request({ method: "GET", path: "/" }));
    assert.match(error.message, /takes no requests on new connections/);
    assert.equal(server.sockets.length, 20);
  });

  it("after GOAWAY open streams continue, and new ones use another connection", async (t) => {
    const sessions: ServerHttp2Session[] = [];
    let write: (text: string) => void = () => {};
    const server = await serve(t, (request, response, seen) => {
      watchOrRespond(request, response, seen);
      sessions.push((request as unknown as { stream: { session: ServerHttp2Session } }).stream.session);
      if (request.url === "/watch") write = (text) => response.write(text);
    });
    const transport = client(t, server.url);
    const reader = await begin(transport);
    const before = sessions[0];
    before?.goaway();
    let requestCount = 0;
    // The GOAWAY is in flight while we send the request.
    while (server.sockets.length < 2) {
      await transport.request({ method: "POST", path: "/", body: {} });
      requestCount++;
    }
    write("more\n");
    assert.equal(Buffer.from((await reader.next()).value).toString(), "more\n");
    assert.equal(server.requests.length, requestCount + 1, "nothing was sent twice");
  });

  it("a connection without a response to a ping is closed", async (t) => {
    const clock = new FakeClock();
    const server = await serve(t, watchOrRespond);
    const relay = await startRelay(t, server.port);
    const reader = await begin(client(t, relay.url, { clock }));
    relay.freeze();
    const next = failure(reader.next());
    await clock.advance(30_000 + 15_000);
    const error = await next;
    assert.ok(error instanceof TransportError);
    assert.match(error.message, /no reply to a ping within 15 s/);
  });

  it("a healthy connection outlives many pings", async (t) => {
    const clock = new FakeClock();
    const server = await serve(t, watchOrRespond);
    const transport = client(t, server.url, { clock });
    await begin(transport);
    for (let i = 0; i < 5; i++) {
      await clock.advance(30_000);
      // The response to the ping arrives before that to a later request.
      await transport.request({ method: "GET", path: "/" });
    }
    assert.equal(server.sockets.length, 1);
  });

  it("after a request without a response the next ones use another connection", async (t) => {
    const clock = new FakeClock();
    const server = await serve(t, watchOrRespond);
    const relay = await startRelay(t, server.port);
    const transport = client(t, relay.url, { clock });
    await transport.request({ method: "GET", path: "/" });
    relay.freeze();
    const hangs = failure(transport.request({ method: "GET", path: "/", timeoutMs: 1000 }));
    await clock.advance(1000);
    assert.match((await hangs).message, /no response within 1 s/);
    await clock.advance(5000);
    await transport.request({ method: "GET", path: "/" });
    assert.equal(server.sockets.length, 2);
  });

  it("many requests without a response do not delay the close of their connection", async (t) => {
    const clock = new FakeClock();
    const server = await serve(t, watchOrRespond);
    const relay = await startRelay(t, server.port);
    const transport = client(t, relay.url, { clock });
    const reader = await begin(transport);
    relay.freeze();
    let ended = false;
    const disconnected = failure(reader.next()).then(() => {
      ended = true;
    });
    for (let i = 0; i < 3; i++) {
      const hangs = failure(transport.request({ method: "GET", path: "/", timeoutMs: 2000 }));
      await clock.advance(2000);
      await hangs;
    }
    assert.equal(ended, false);
    await clock.advance(1000);
    await disconnected;
  });

  it("an aborted wait for a connection does not abort it for others, and it times out after 10 s", async (t) => {
    const clock = new FakeClock();
    const silent: Socket[] = [];
    const blackHole = createServer((socket) => silent.push(socket.on("error", () => {})));
    await new Promise<void>((resolve) => blackHole.listen(0, "127.0.0.1", resolve));
    t.after(() => {
      for (const socket of silent) socket.destroy();
      blackHole.close();
    });
    const transport = client(t, `https://127.0.0.1:${(blackHole.address() as AddressInfo).port}`, { clock });
    const first = failure(transport.request({ method: "GET", path: "/", timeoutMs: 1000 }));
    const second = failure(transport.request({ method: "GET", path: "/" }));
    await until(() => silent.length === 1);
    await clock.advance(1000);
    assert.match((await first).message, /no response within 1 s/);
    await clock.advance(9_000);
    assert.match((await second).message, /no connection within 10 s/);
    assert.equal(silent.length, 1);
  });

  it("after close() nothing is sent and no timer is left", async (t) => {
    const clock = new FakeClock();
    const server = await serve(t, watchOrRespond);
    const transport = client(t, server.url, { clock });
    const reader = await begin(transport);
    transport.close();
    assert.ok((await failure(reader.next())) instanceof TransportError);
    assert.match((await failure(transport.request({ method: "GET", path: "/" }))).message, /closed/);
    await until(() => clock.pending === 0);
  });
});

describe("rate limit and retries", { timeout: 30_000 }, () => {
  it("a burst is sent immediately, the rest at the rate", async (t) => {
    const clock = new FakeClock();
    const server = await serve(t, watchOrRespond);
    const transport = client(t, server.url, { clock, qps: 10, burst: 2 });
    const all = Promise.all(
      Array.from({ length: 4 }, () => transport.request({ method: "GET", path: "/", timeoutMs: 1e9 })),
    );
    await until(() => server.requests.length === 2);
    await clock.advance(99);
    assert.equal(server.requests.length, 2);
    await clock.advance(1);
    await until(() => server.requests.length === 3);
    await clock.advance(100);
    await all;
  });

  it("a client that shares the connections has its own rate", async (t) => {
    const clock = new FakeClock();
    const server = await serve(t, watchOrRespond);
    const transport = client(t, server.url, { clock, qps: 1, burst: 1 });
    const lease = HttpKubeTransport.sharing(transport, { qps: 0, burst: 0 });
    await transport.request({ method: "GET", path: "/" });
    for (let i = 0; i < 3; i++) await lease.request({ method: "GET", path: "/lease" });
    assert.equal(server.sockets.length, 1);
    lease.close();
    assert.equal(
      await Promise.race([failure(transport.request({ method: "GET", path: "/" })), "waits"]),
      "waits",
    );
  });

  it("waits as long as Retry-After, and ends with the signal", async (t) => {
    const clock = new FakeClock();
    const server = await serve(t, (_request, response) =>
      json(response, server.requests.length === 1 ? 503 : 200, {}, { "retry-after": "5" }),
    );
    const transport = client(t, server.url, { clock });
    const pending = transport.request({ method: "GET", path: "/" });
    await until(() => server.requests.length === 1);
    // Only the connection's ping and the wait remain of the first attempt.
    await until(() => clock.pending === 2);
    await clock.advance(4999);
    assert.equal(server.requests.length, 1);
    await clock.advance(1);
    await pending;

    server.requests.length = 0;
    const ending = new AbortController();
    const aborted = failure(transport.request({ method: "GET", path: "/", signal: ending.signal }));
    await until(() => server.requests.length === 1 && clock.pending === 2);
    ending.abort();
    assert.equal((await aborted).name, "AbortError");
  });

  it("a server that always returns Retry-After receives 11 requests", async (t) => {
    const seen: number[] = [];
    const server = await serve(t, (_request, response) => json(response, 429, {}, { "retry-after": "0" }));
    const transport = client(t, server.url, { onResponse: ({ status }) => seen.push(status) });
    const error = await failure(transport.request({ method: "GET", path: "/" }));
    assert.ok(error instanceof KubeApiError);
    assert.equal(error.retryAfterMs, 0);
    assert.equal(server.requests.length, 11);
    assert.deepEqual(seen, Array(11).fill(429));
  });
});
