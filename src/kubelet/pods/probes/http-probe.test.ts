import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { IncomingMessage, RequestListener } from "node:http";
import { describe, it, type TestContext } from "node:test";
import { systemClock } from "../../../lib/base/clock.ts";
import { isAbort } from "../../../lib/base/errors.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import type { AttemptResult } from "./attempt-result.ts";
import {
  closedPort,
  type LoopbackServer,
  pushAndFail,
  serveHttp,
  serveHttp2,
  serveHttps,
  serveTcp,
  timeWaitsTo,
} from "./fake-server.ts";
import { probeHttp } from "./http-probe.ts";
import { type HttpGet, httpRequest } from "./http-request.ts";

const pem = readFileSync(new URL("../../../../test/fixtures/probes/self-signed.pem", import.meta.url));

async function server(t: TestContext, starting: Promise<LoopbackServer>): Promise<LoopbackServer> {
  const started = await starting;
  t.after(() => started.close());
  return started;
}

function probe(
  port: number,
  get: Partial<HttpGet> = {},
  { clock = systemClock, signal = new AbortController().signal, timeoutMs = 10_000, host = "127.0.0.1" } = {},
): Promise<AttemptResult> {
  return probeHttp(httpRequest({ port, path: "/", scheme: "HTTP", ...get }, {}, host), {
    clock,
    timeoutMs,
    signal,
  });
}

const responding =
  (status: number, body = "", headers: Record<string, string> = {}): RequestListener =>
  (_, response) => {
    response.writeHead(status, headers).end(body);
  };

describe("an HTTP probe", () => {
  const failed = (status: number) => ({
    kind: "failure" as const,
    output: `HTTP probe failed with statuscode: ${status}`,
  });
  const table: [rule: string, status: number, body: string, result: AttemptResult][] = [
    ["200 is success, with the body", 200, "fine", { kind: "success", output: "fine" }],
    ["204 is success", 204, "", { kind: "success", output: "" }],
    ["299 is success", 299, "", { kind: "success", output: "" }],
    [
      "302 without a location is a warning",
      302,
      "moved",
      { kind: "warning", output: "Probe terminated redirects, Response body: moved" },
    ],
    ["399 is a warning", 399, "", { kind: "warning", output: "Probe terminated redirects, Response body: " }],
    ["400 is failure, without the body", 400, "secret", failed(400)],
    ["404 is failure", 404, "", failed(404)],
    ["503 is failure", 503, "", failed(503)],
  ];
  for (const [rule, status, body, result] of table)
    it(rule, async (t) => {
      const { port } = await server(t, serveHttp(responding(status, body)));
      assert.deepEqual(await probe(port), result);
    });

  it("101 is failure", async (t) => {
    const { port } = await server(
      t,
      serveTcp((socket) => socket.end("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n\r\n")),
    );
    assert.deepEqual(await probe(port), failed(101));
  });

  it("sends a plain GET on a new connection", async (t) => {
    let received: IncomingMessage | undefined;
    const { port } = await server(
      t,
      serveHttp((request, response) => {
        received = request;
        response.end();
      }),
    );
    await probe(port, {
      path: "/x?y",
      httpHeaders: [
        { name: "X-Many", value: "1" },
        { name: "x-many", value: "2" },
      ],
    });
    assert.equal(received?.method, "GET");
    assert.equal(received?.url, "/x?y");
    assert.deepEqual(received?.headers, {
      host: `127.0.0.1:${port}`,
      "user-agent": "kube-probe/1.36",
      accept: "*/*",
      "x-many": "1, 2",
      connection: "close",
    });
  });

  it("sends headers in UTF-8", async (t) => {
    let received: string | undefined;
    const { port } = await server(
      t,
      serveHttp((request, response) => {
        received = Buffer.from(String(request.headers["x-a"]), "latin1").toString();
        response.end();
      }),
    );
    await probe(port, { httpHeaders: [{ name: "X-A", value: "Grüße €" }] });
    assert.equal(received, "Grüße €");
  });

  it("is not sent with invalid headers", async (t) => {
    const target = await server(t, serveHttp(responding(200)));
    const result = await probe(target.port, { httpHeaders: [{ name: "X-A", value: "a\r\nb" }] });
    assert.equal(result.kind, "error");
    assert.equal(target.open.size, 0);
  });

  it("follows redirects within the host with its headers", async (t) => {
    const received: string[] = [];
    const { port } = await server(
      t,
      serveHttp((request, response) => {
        received.push(`${request.url} ${request.headers.host} ${request.headers["x-a"]}`);
        if (request.url === "/b") response.end("here");
        else response.writeHead(307, { location: "/b" }).end();
      }),
    );
    const httpHeaders = [
      { name: "X-A", value: "1" },
      { name: "Host", value: "web.example" },
    ];
    assert.deepEqual(await probe(port, { path: "/a", httpHeaders }), { kind: "success", output: "here" });
    assert.deepEqual(received, ["/a web.example 1", "/b web.example 1"]);
  });

  it("counts a redirect to another host as success with a warning", async (t) => {
    const { port } = await server(t, serveHttp(responding(302, "away", { location: "http://127.0.0.2/" })));
    assert.deepEqual(await probe(port), {
      kind: "warning",
      output: "Probe terminated redirects, Response body: away",
    });
  });

  it("gives up after ten redirects", async (t) => {
    let requests = 0;
    const { port } = await server(
      t,
      serveHttp((_, response) => {
        requests++;
        response.writeHead(302, { location: "/again" }).end();
      }),
    );
    assert.deepEqual(await probe(port), {
      kind: "failure",
      output: `Get "http://127.0.0.1:${port}/again": stopped after 10 redirects`,
    });
    assert.equal(requests, 10);
  });

  it("accepts any certificate", async (t) => {
    const { port } = await server(t, serveHttps(pem, responding(200, "safe")));
    assert.deepEqual(await probe(port, { scheme: "HTTPS" }), { kind: "success", output: "safe" });
  });

  it("reports a server that speaks HTTP where HTTPS was expected", async (t) => {
    const { port } = await server(t, serveHttp(responding(200)));
    assert.deepEqual(await probe(port, { scheme: "HTTPS" }), {
      kind: "failure",
      output: `Get "https://127.0.0.1:${port}/": http: server gave HTTP response to HTTPS client`,
    });
  });

  it("works with IPv6", async (t) => {
    const { port } = await server(t, serveHttp(responding(200), "::1"));
    assert.equal((await probe(port, {}, { host: "::1" })).kind, "success");
  });

  it("fails if the port is closed", async () => {
    const port = await closedPort();
    assert.deepEqual(await probe(port), {
      kind: "failure",
      output: `Get "http://127.0.0.1:${port}/": dial tcp 127.0.0.1:${port}: connect: connection refused`,
    });
  });

  it("fails if the server closes the connection without a response", async (t) => {
    const { port } = await server(
      t,
      serveTcp((socket) => void socket.once("data", () => socket.end())),
    );
    assert.deepEqual(await probe(port), { kind: "failure", output: `Get "http://127.0.0.1:${port}/": EOF` });
  });

  it("fails if the server resets the connection", async (t) => {
    const { port } = await server(
      t,
      serveTcp((socket) => void socket.once("data", () => socket.resetAndDestroy())),
    );
    const result = await probe(port);
    assert.match(
      result.kind === "failure" ? result.output : "",
      /^Get "[^"]+": read tcp 127\.0\.0\.1:\d+->127\.0\.0\.1:\d+: read: connection reset by peer$/,
    );
  });

  it("fails when the server has not responded in time, and closes the connection", async (t) => {
    const clock = new FakeClock();
    const received = Promise.withResolvers<void>();
    const target = await server(
      t,
      serveHttp(() => received.resolve()),
    );
    const result = probe(target.port, {}, { clock, timeoutMs: 1000 });
    await received.promise;
    await clock.advance(999);
    assert.equal(target.open.size, 1);
    await clock.advance(1);
    assert.deepEqual(await result, {
      kind: "failure",
      output: `Get "http://127.0.0.1:${target.port}/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
    });
    await allClosed(target);
    assert.equal(clock.pending, 0);
  });

  it("counts a body that does not arrive in time as an error", async (t) => {
    const clock = new FakeClock();
    const target = await server(
      t,
      serveHttp((_, response) => {
        response.writeHead(200, { "content-length": "10" });
        response.write("half");
      }),
    );
    const result = probe(target.port, {}, { clock, timeoutMs: 1000 });
    const settled = result.then(() => true);
    // Time passes only after the headers have arrived.
    await until(() => target.open.values().next().value?.bytesWritten ?? 0);
    while (!(await Promise.race([settled, clock.advance(500).then(() => false)])));
    const { kind, ...rest } = await result;
    assert.equal(kind, "error");
    assert.deepEqual(rest, {
      state: "failure",
      message: "context deadline exceeded (Client.Timeout or context cancellation while reading body)",
    });
  });

  it("reads 10 KiB and no more", async (t) => {
    const target = await server(
      t,
      serveHttp((_, response) => {
        response.write("x".repeat(20_000)); // and never ends
      }),
    );
    const result = await probe(target.port);
    assert.deepEqual(result, { kind: "success", output: "x".repeat(10_240) });
    await allClosed(target);
  });

  it("can be aborted", async (t) => {
    const call = new AbortController();
    const target = await server(
      t,
      serveHttp(() => call.abort()),
    );
    await assert.rejects(probe(target.port, {}, { signal: call.signal }), isAbort);
    await allClosed(target);
  });

  for (const scheme of ["HTTP", "HTTPS"] as const)
    it(`leaves no connection open or in TIME_WAIT (${scheme})`, async (t) => {
      const target = await server(
        t,
        scheme === "HTTP" ? serveHttp(responding(200, "ok")) : serveHttps(pem, responding(200, "ok")),
      );
      for (let i = 0; i < 20; i++) assert.equal((await probe(target.port, { scheme })).kind, "success");
      await allClosed(target);
      assert.equal(timeWaitsTo(target.port), 0);
    });
});

async function until(condition: () => unknown): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

function allClosed(target: LoopbackServer): Promise<void> {
  return until(() => target.open.size === 0);
}

describe("an HTTPS probe of a server with HTTP/2", () => {
  it("uses it, with the headers of the probe", async (t) => {
    let received: object = {};
    const target = await server(
      t,
      serveHttp2(pem, ({ method, url, headers, httpVersion }, response) => {
        const { host, "x-a": own, connection, "user-agent": agent, ":authority": authority } = headers;
        received = { method, url, httpVersion, host, own, connection, agent, authority };
        response.end("fine");
      }),
    );
    const httpHeaders = [
      { name: "X-A", value: "b" },
      { name: "Host", value: "web.test" },
      { name: "Connection", value: "keep-alive" },
    ];
    assert.deepEqual(await probe(target.port, { scheme: "HTTPS", path: "/x?y", httpHeaders }), {
      kind: "success",
      output: "fine",
    });
    assert.deepEqual(received, {
      method: "GET",
      url: "/x?y",
      httpVersion: "2.0",
      host: undefined,
      own: "b",
      connection: undefined,
      agent: "kube-probe/1.36",
      authority: "web.test",
    });
    await allClosed(target);
    assert.equal(timeWaitsTo(target.port), 0);
  });

  it("reports its status, and follows a redirect", async (t) => {
    const { port } = await server(
      t,
      serveHttp2(pem, ({ url }, response) => {
        if (url === "/moved") response.writeHead(302, { location: "/sick" });
        else response.writeHead(503);
        response.end();
      }),
    );
    assert.deepEqual(await probe(port, { scheme: "HTTPS", path: "/moved" }), {
      kind: "failure",
      output: "HTTP probe failed with statuscode: 503",
    });
  });

  it("reports a response that does not come in time", async (t) => {
    const { port } = await server(
      t,
      serveHttp2(pem, () => {}),
    );
    assert.deepEqual(await probe(port, { scheme: "HTTPS" }, { timeoutMs: 300 }), {
      kind: "failure",
      output: `Get "https://127.0.0.1:${port}/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
    });
  });

  it("ends nothing else if the server pushes a stream and fails", async (t) => {
    const { port } = await server(
      t,
      serveHttp2(pem, (_, { stream }) => pushAndFail(stream)),
    );
    assert.deepEqual(await probe(port, { scheme: "HTTPS" }), {
      kind: "failure",
      output: `Get "https://127.0.0.1:${port}/": Session closed with error code 2`,
    });
  });

  it("does not offer it with DISABLE_HTTP2", async (t) => {
    const { port } = await server(
      t,
      serveHttp2(pem, (_, response) => void response.end("fine")),
    );
    process.env.DISABLE_HTTP2 = "1";
    t.after(() => delete process.env.DISABLE_HTTP2);
    const { kind } = await probe(port, { scheme: "HTTPS" });
    assert.equal(kind, "failure");
  });

  it("is not sent with invalid headers", async (t) => {
    let requests = 0;
    const { port } = await server(
      t,
      serveHttp2(pem, (_, response) => {
        requests++;
        response.end();
      }),
    );
    const { kind } = await probe(port, { scheme: "HTTPS", httpHeaders: [{ name: "a b", value: "c" }] });
    assert.deepEqual([kind, requests], ["error", 0]);
  });
});
