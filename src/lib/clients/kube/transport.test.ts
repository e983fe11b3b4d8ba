import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import {
  base64,
  fixture,
  type Handler,
  json,
  kubeconfig,
  type Protocol,
  status,
  TestApiServer,
} from "../../../../test/kube/api-server.ts";
import { systemClock } from "../../base/clock.ts";
import { createMetrics } from "../../base/metrics.ts";
import { KubeApiError, TransportError } from "./api-error.ts";
import { parseKubeconfig } from "./kubeconfig.ts";
import { requestMetrics } from "./request-metrics.ts";
import { HttpKubeTransport, kubeletUserAgent, type TransportOptions } from "./transport.ts";

async function serve(t: TestContext, protocol: Protocol, handler: Handler) {
  const server = await TestApiServer.start(protocol, handler);
  t.after(() => server.close());
  return server;
}

function client(t: TestContext, server: { url: string }, options: Partial<TransportOptions> = {}, user = {}) {
  const ca = server.url.startsWith("https") && { "certificate-authority-data": base64(fixture("ca.pem")) };
  const access = parseKubeconfig(kubeconfig({ server: server.url, ...ca }, user), "/etc/kubelet.conf");
  const transport = new HttpKubeTransport({
    access,
    userAgent: kubeletUserAgent("v1.36.4", "amd64", "0123456789"),
    qps: 0,
    burst: 0,
    env: {},
    ...options,
  });
  t.after(() => transport.close());
  return transport;
}

async function failure(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => assert.fail("did not fail"),
    (error: unknown) => error as Error,
  );
}

async function text(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

it("HTTP/2 is not offered if DISABLE_HTTP2 is set", async (t) => {
  const server = await serve(t, "h2", (_request, response) => json(response, 200, {}));
  const get = (env: Record<string, string>) =>
    client(t, server, { env }).request({ method: "GET", path: "/one" });
  assert.deepEqual(await get({ DISABLE_HTTP2: "" }), {});
  await assert.rejects(get({ DISABLE_HTTP2: "true" }), /no application protocol/);
});

for (const protocol of ["h2", "https", "http"] as const) {
  describe(`over ${protocol}`, { timeout: 30_000 }, () => {
    it("sends method, path, query, headers and body, and returns the JSON", async (t) => {
      const server = await serve(t, protocol, (_request, response) => json(response, 200, { kind: "Pod" }));
      const transport = client(t, server);
      const result = await transport.request({
        method: "PATCH",
        path: "/api/v1/namespaces/default/pods/a",
        query: { fieldManager: "kubelet", force: true, limit: 5, absent: undefined },
        body: { spec: "ü" },
        contentType: "application/strategic-merge-patch+json",
      });
      assert.deepEqual(result, { kind: "Pod" });
      const [seen] = server.requests;
      assert.equal(seen?.method, "PATCH");
      assert.equal(seen?.url, "/api/v1/namespaces/default/pods/a?fieldManager=kubelet&force=true&limit=5");
      assert.equal(seen?.body, '{"spec":"ü"}');
      assert.equal(seen?.headers["content-type"], "application/strategic-merge-patch+json");
      assert.equal(seen?.headers.accept, "application/json");
      assert.equal(seen?.headers["user-agent"], "kubelet/v1.36.4 (linux/amd64) kubernetes/0123456");
    });

    it("sequential requests and many watches share connections as the protocol allows", async (t) => {
      const server = await serve(t, protocol, (request, response) => {
        if (!request.url?.includes("watch")) return json(response, 200, {});
        response.writeHead(200);
        response.write("\n");
      });
      const transport = client(t, server);
      for (let i = 0; i < 5; i++) await transport.request({ method: "GET", path: "/one" });
      assert.equal(server.sockets.length, 1);
      const ending = new AbortController();
      t.after(() => ending.abort());
      for (let i = 0; i < 20; i++) await transport.stream({ path: "/watch", signal: ending.signal });
      await transport.request({ method: "GET", path: "/one" });
      assert.equal(server.sockets.length, protocol === "h2" ? 1 : 21);
    });

    it("a stream is read as data arrives and ends when the server ends it", async (t) => {
      let more: (chunk?: string) => void = () => {};
      const server = await serve(t, protocol, (_request, response) => {
        response.writeHead(200);
        response.write("first\n");
        more = (chunk) => (chunk === undefined ? response.end() : response.write(chunk));
      });
      const stream = await client(t, server).stream({ path: "/watch", signal: new AbortController().signal });
      const reader = stream[Symbol.asyncIterator]();
      assert.equal(Buffer.from((await reader.next()).value).toString(), "first\n");
      more("second\n");
      assert.equal(Buffer.from((await reader.next()).value).toString(), "second\n");
      more();
      assert.equal((await reader.next()).done, true);
    });

    it("a stream that is disconnected fails with a TransportError", async (t) => {
      const server = await serve(t, protocol, (_request, response) => {
        response.writeHead(200);
        response.write("half a li");
      });
      const stream = await client(t, server).stream({ path: "/watch", signal: new AbortController().signal });
      const reader = stream[Symbol.asyncIterator]();
      await reader.next();
      const next = failure(reader.next());
      server.disconnect();
      const error = await next;
      assert.ok(error instanceof TransportError, String(error));
      assert.match(error.message, /^GET https?:\/\/127\.0\.0\.1:\d+\/watch: /);
    });

    it("an aborted stream ends without an error, and the server is notified", async (t) => {
      let onClosed: () => void = () => {};
      const left = new Promise<void>((resolve) => {
        onClosed = resolve;
      });
      const server = await serve(t, protocol, (_request, response) => {
        response.on("close", onClosed);
        response.writeHead(200);
        response.write("x");
      });
      const ending = new AbortController();
      const stream = await client(t, server).stream({ path: "/watch", signal: ending.signal });
      const reader = stream[Symbol.asyncIterator]();
      await reader.next();
      const next = reader.next();
      ending.abort();
      assert.equal((await next).done, true);
      await left;
    });

    it("a reader that leaves its loop ends the exchange", async (t) => {
      let onClosed: () => void = () => {};
      const left = new Promise<void>((resolve) => {
        onClosed = resolve;
      });
      const server = await serve(t, protocol, (_request, response) => {
        response.on("close", onClosed);
        response.writeHead(200);
        response.write("x");
      });
      for await (const _ of await client(t, server).stream({
        path: "/watch",
        signal: new AbortController().signal,
      }))
        break;
      await left;
    });

    it("a server that does not respond fails only that request, after its timeout", async (t) => {
      const server = await serve(t, protocol, (request, response) => {
        if (request.url !== "/hang") json(response, 200, { ok: true });
      });
      const transport = client(t, server);
      const error = await failure(transport.request({ method: "GET", path: "/hang", timeoutMs: 50 }));
      assert.ok(error instanceof TransportError);
      assert.match(error.message, /\/hang: no response within 0\.05 s$/);
      assert.deepEqual(await transport.request({ method: "GET", path: "/ok" }), { ok: true });
    });

    it("an aborted request rejects with an AbortError", async (t) => {
      const ending = new AbortController();
      const server = await serve(t, protocol, () => ending.abort());
      const error = await failure(
        client(t, server).request({ method: "GET", path: "/hang", signal: ending.signal }),
      );
      assert.equal(error.name, "AbortError");
    });

    it("half a body is a TransportError", async (t) => {
      const server = await serve(t, protocol, (_request, response) => {
        response.writeHead(200, { "content-length": "100" });
        response.write('{"a":', () => server.disconnect());
      });
      const error = await failure(client(t, server).request({ method: "GET", path: "/x" }));
      assert.ok(error instanceof TransportError, String(error));
    });

    it("a truncated response is a TransportError even if it is valid JSON", async (t) => {
      const server = await serve(t, protocol, (_request, response) => {
        response.writeHead(200);
        response.write("{}", () => server.disconnect());
      });
      const error = await failure(client(t, server).request({ method: "GET", path: "/x" }));
      assert.ok(error instanceof TransportError, String(error));
    });

    it("a truncated gzip body is a TransportError", async (t) => {
      const packed = gzipSync(JSON.stringify({ a: "b".repeat(1000), c: Math.random() }));
      const server = await serve(t, protocol, (_request, response) => {
        response.writeHead(200, { "content-encoding": "gzip" });
        response.write(packed.subarray(0, 20), () => server.disconnect());
      });
      const error = await failure(client(t, server).request({ method: "GET", path: "/x" }));
      assert.ok(error instanceof TransportError, String(error));
    });

    it("a connection that is reset before the response is a TransportError for a POST, which is sent once", async (t) => {
      const server = await serve(t, protocol, () => server.disconnect());
      const transport = client(t, server);
      const error = await failure(transport.request({ method: "POST", path: "/x", body: {} }));
      assert.ok(error instanceof TransportError, String(error));
      assert.equal(server.requests.length, 1);
    });

    it("a GET on a connection that the server has closed in the meantime is retried", async (t) => {
      const server = await serve(t, protocol, (_request, response) => {
        if (server.requests.length === 2) server.disconnect();
        else json(response, 200, { n: server.requests.length });
      });
      const transport = client(t, server);
      await transport.request({ method: "GET", path: "/x" });
      assert.deepEqual(await transport.request({ method: "GET", path: "/x" }), { n: 3 });
    });

    it("a server that is back after all connections were closed is reached again", async (t) => {
      const server = await serve(t, protocol, (_request, response) => json(response, 200, {}));
      const transport = client(t, server);
      for (let i = 0; i < 3; i++) {
        await transport.request({ method: "GET", path: "/x" });
        server.disconnect();
      }
      await transport.request({ method: "GET", path: "/x" });
      assert.ok(server.sockets.length >= 4);
    });

    it("a gzip response is decompressed", async (t) => {
      const server = await serve(t, protocol, (request, response) => {
        assert.equal(request.headers["accept-encoding"], "gzip");
        response.writeHead(200, { "content-encoding": "gzip" });
        response.end(gzipSync('{"packed":true}'));
      });
      assert.deepEqual(await client(t, server).request({ method: "GET", path: "/x" }), { packed: true });
    });

    it("a response over the limit is rejected, even if it is small when compressed", async (t) => {
      const server = await serve(t, protocol, (_request, response) => {
        response.writeHead(200, { "content-encoding": "gzip" });
        response.end(gzipSync(JSON.stringify("x".repeat(100_000))));
      });
      const error = await failure(
        client(t, server, { maxBodyBytes: 10_000 }).request({ method: "GET", path: "/x" }),
      );
      assert.ok(error instanceof TransportError);
      assert.match(error.message, /larger than 10000 bytes/);
    });

    it("a Status becomes a KubeApiError", async (t) => {
      const server = await serve(t, protocol, (_request, response) =>
        json(response, 404, status(404, "NotFound", 'pods "a" not found', { name: "a", kind: "pods" })),
      );
      const error = await failure(client(t, server).request({ method: "GET", path: "/x" }));
      assert.ok(error instanceof KubeApiError);
      assert.deepEqual(
        [error.status, error.reason, error.message, error.details],
        [404, "NotFound", 'pods "a" not found', { name: "a", kind: "pods" }],
      );
    });

    it("a rejected stream throws a KubeApiError before it starts", async (t) => {
      const server = await serve(t, protocol, (_request, response) =>
        json(response, 410, status(410, "Expired", "too old resource version")),
      );
      const error = await failure(
        client(t, server).stream({ path: "/watch", signal: new AbortController().signal }),
      );
      assert.ok(error instanceof KubeApiError);
      assert.equal(error.reason, "Expired");
    });

    it("429 with Retry-After is retried", async (t) => {
      const server = await serve(t, protocol, (_request, response) => {
        if (server.requests.length < 3) json(response, 429, {}, { "retry-after": "0" });
        else json(response, 200, { n: server.requests.length });
      });
      assert.deepEqual(await client(t, server).request({ method: "POST", path: "/x", body: {} }), { n: 3 });
    });

    it("no response is a TransportError with its cause", async (t) => {
      const server = await serve(t, protocol, () => {});
      await server.close();
      const error = await failure(client(t, server).request({ method: "GET", path: "/x" }));
      assert.ok(error instanceof TransportError);
      assert.match(error.message, /ECONNREFUSED/);
    });

    it("an empty response is undefined, one that is not JSON is a TransportError", async (t) => {
      const server = await serve(t, protocol, (request, response) => {
        response.writeHead(200);
        response.end(request.url === "/empty" ? "" : "<html>");
      });
      const transport = client(t, server);
      assert.equal(await transport.request({ method: "DELETE", path: "/empty" }), undefined);
      const error = await failure(transport.request({ method: "GET", path: "/html" }));
      assert.ok(error instanceof TransportError);
      assert.match(error.message, /not JSON/);
    });

    it("concurrent large lists arrive complete", async (t) => {
      const items = Array.from({ length: 2000 }, (_, i) => ({ name: `p${i}`, pad: "y".repeat(2000) }));
      const server = await serve(t, protocol, (_request, response) => json(response, 200, { items }));
      const transport = client(t, server);
      const list = () => transport.request<{ items: unknown[] }>({ method: "GET", path: "/x" });
      for (const result of await Promise.all([list(), list(), list(), list(), list()]))
        assert.equal(result.items.length, 2000);
    });

    it("a large body is sent completely", async (t) => {
      const server = await serve(t, protocol, (_request, response, { body }) =>
        json(response, 200, { size: body.length }),
      );
      const body = { pad: "z".repeat(3_000_000) };
      const result = await client(t, server).request({ method: "POST", path: "/x", body });
      assert.deepEqual(result, { size: JSON.stringify(body).length });
    });

    it("the text of a stream has all bytes", async (t) => {
      const server = await serve(t, protocol, (_request, response) => {
        response.writeHead(200);
        for (let i = 0; i < 500; i++) response.write(`${i}`.repeat(500));
        response.end();
      });
      const stream = await client(t, server).stream({ path: "/w", signal: new AbortController().signal });
      const expected = Array.from({ length: 500 }, (_, i) => `${i}`.repeat(500)).join("");
      assert.equal(await text(stream), expected);
    });
  });
}

// parity: metric /metrics rest_client_requests_total, metric /metrics rest_client_request_duration_seconds
// parity: metric /metrics rest_client_rate_limiter_duration_seconds, metric /metrics rest_client_request_size_bytes
// parity: metric /metrics rest_client_response_size_bytes, metric /metrics rest_client_transport_cache_entries
// parity: metric /metrics rest_client_transport_create_calls_total
// parity: metric /metrics rest_client_transport_cert_rotation_gc_calls_total
it("requests are counted: each attempt by its code, each request once with its time and sizes", async (t) => {
  let requestCount = 0;
  const server = await serve(t, "http", (_request, response) => {
    requestCount++;
    if (requestCount === 1) return void response.writeHead(429, { "retry-after": "0" }).end();
    json(response, requestCount === 2 ? 200 : 404, { kind: "Pod" });
  });
  const metrics = createMetrics();
  const transport = client(t, server, { metrics: requestMetrics(metrics, systemClock) });
  await transport.request({ method: "PUT", path: "/api/v1/pods", body: { a: 1 } });
  await failure(transport.request({ method: "GET", path: "/api/v1/pods" }));
  await server.close();
  await failure(transport.request({ method: "POST", path: "/api/v1/pods", body: {} }));
  HttpKubeTransport.sharing(transport, { qps: 0, burst: 0 });
  const exposed = await metrics.registry.metrics();
  const { host } = new URL(server.url);
  for (const line of [
    "rest_client_transport_cache_entries 1",
    `rest_client_transport_create_calls_total{result="miss"} 1`,
    `rest_client_transport_create_calls_total{result="hit"} 1`,
    `rest_client_requests_total{code="429",method="PUT",host="${host}"} 1`,
    `rest_client_requests_total{code="200",method="PUT",host="${host}"} 1`,
    `rest_client_requests_total{code="404",method="GET",host="${host}"} 1`,
    `rest_client_request_retries_total{code="429",verb="PUT",host="${host}"} 1`,
    `rest_client_request_duration_seconds_count{verb="PUT",host="${host}"} 1`,
    `rest_client_rate_limiter_duration_seconds_count{verb="PUT",host="${host}"} 2`,
    `rest_client_request_size_bytes_sum{verb="PUT",host="${host}"} 7`,
    `rest_client_request_size_bytes_sum{verb="GET",host="${host}"} 0`,
    `rest_client_response_size_bytes_sum{verb="PUT",host="${host}"} ${JSON.stringify({ kind: "Pod" }).length}`,
  ])
    assert.ok(exposed.includes(`${line}\n`), `${line}\n${exposed}`);
  transport.close();
  const closed = await metrics.registry.metrics();
  for (const line of [
    "rest_client_transport_cache_entries 0",
    'rest_client_transport_cache_gc_calls_total{result="deleted"} 1',
    "rest_client_transport_cert_rotation_gc_calls_total 0",
    "rest_client_exec_plugin_ttl_seconds +Inf",
  ])
    assert.ok(closed.includes(`${line}\n`), `${line}\n${closed}`);
  assert.match(exposed, /rest_client_requests_total\{code="<error>",method="POST",host="[^"]*"\} [1-9]/);
});

it("a server that switches protocols fails the request", async (t) => {
  const server = await serve(t, "http", (_request, response) =>
    response.writeHead(101, { connection: "upgrade", upgrade: "other" }).end(),
  );
  const error = await failure(
    client(t, server).request({ method: "POST", path: "/one", timeoutMs: 600_000 }),
  );
  assert.match(error.message, /^POST http:.*: the response switches protocols$/);
});
