import assert from "node:assert/strict";
import { constants, type Http2ServerResponse } from "node:http2";
import { createServer, type Server } from "node:net";
import { type TestContext, test } from "node:test";
import { base64, fixture, kubeconfig, TestApiServer } from "../../../../test/kube/api-server.ts";
import { failureLog } from "../../base/failure-log.ts";
import { FakeClock } from "../../base/fake-clock.ts";
import { type Logger, silentLogger } from "../../base/logger.ts";
import { parseKubeconfig } from "./kubeconfig.ts";
import { OutageLog } from "./outage-log.ts";
import { HttpKubeTransport } from "./transport.ts";

/** The log at verbosity 2: failed requests by their callers, and the client's own lines. */
function recorder() {
  const lines: string[] = [];
  const log = (message: string, fields?: object) =>
    void lines.push(`${message}: ${(fields as { err?: string } | undefined)?.err ?? ""}`);
  const logger: Logger = { ...silentLogger, info: log, warn: log, error: log };
  return { lines, logger };
}

async function failed(
  t: TestContext,
  url: string,
  { user = {}, timeoutMs = 30_000 }: { user?: object; timeoutMs?: number } = {},
): Promise<string[]> {
  const { lines, logger } = recorder();
  const ca = url.startsWith("https") && { "certificate-authority-data": base64(fixture("ca.pem")) };
  const access = parseKubeconfig(kubeconfig({ server: url, ...ca }, user), "/etc/kubelet.conf");
  const transport = new HttpKubeTransport({ access, userAgent: "", qps: 0, burst: 0, env: {}, logger });
  t.after(() => transport.close());
  // A reused connection, if the server responds.
  await transport.request({ method: "GET", path: "/lease", timeoutMs }).catch(() => {});
  for (let attempt = 0; attempt < 2; attempt++) {
    const call = { method: "PUT", path: "/lease", body: {}, timeoutMs } as const;
    const error = await transport.request(call).then(
      () => assert.fail("did not fail"),
      (reason: unknown) => reason as Error,
    );
    failureLog(logger, "error", error)("Failed to renew node lease", { err: error.message });
  }
  return lines.map((line) => line.replaceAll(url, "SERVER").replaceAll(new URL(url).host, "HOST"));
}

async function listening(t: TestContext, server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

test("a server that cannot be connected to is logged once, by the client alone", async (t) => {
  const server = createServer();
  const url = await listening(t, server);
  await new Promise((resolve) => server.close(resolve));
  assert.deepEqual(await failed(t, url), [
    "API server is unreachable, will keep trying: connect ECONNREFUSED HOST",
  ]);
});

test("a server that accepts connections and does not respond is logged by the sender of the request", async (t) => {
  const server = await TestApiServer.start("http", () => {});
  t.after(() => server.close());
  const line = "Failed to renew node lease: PUT SERVER/lease: no response within 0.5 s";
  assert.deepEqual(await failed(t, server.url, { timeoutMs: 500 }), [line, line]);
});

test("a server that closes each connection instead of responding is logged by the sender of the request", async (t) => {
  const url = await listening(
    t,
    createServer((socket) => socket.once("data", () => socket.destroy())),
  );
  const lines = await failed(t, url);
  assert.equal(lines.length, 2, lines.join("\n"));
  for (const line of lines) assert.match(line, /^Failed to renew node lease/);
});

test("a server that resets requests on a working connection is logged by the sender of the request", async (t) => {
  const server = await TestApiServer.start("h2", (request, response) => {
    if (request.method === "GET") response.end("{}");
    else (response as unknown as Http2ServerResponse).stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  });
  t.after(() => server.close());
  const lines = await failed(t, server.url);
  assert.equal(lines.length, 2, lines.join("\n"));
  for (const line of lines) assert.match(line, /^Failed to renew node lease/);
});

test("a connection that worked and is lost is not logged: the next one is, if it does not work either", async (t) => {
  const server = await TestApiServer.start("h2", (request, response) => {
    if (request.method === "GET") response.end("{}");
    else (response as unknown as Http2ServerResponse).stream.session?.destroy();
  });
  t.after(() => server.close());
  const lines = await failed(t, server.url);
  assert.equal(lines.length, 1, lines.join("\n"));
  assert.match(lines[0] ?? "", /^Failed to renew node lease/);
});

test("a response that is not JSON is logged by the sender of the request", async (t) => {
  const server = await TestApiServer.start("http", (_, response) => void response.end("<html>"));
  t.after(() => server.close());
  const line = "Failed to renew node lease: PUT SERVER/lease: the response is not JSON";
  assert.deepEqual(await failed(t, server.url), [line, line]);
});

test("credentials that cannot be obtained are logged by the sender of the request", async (t) => {
  const server = await TestApiServer.start("https", (_, response) => void response.end("{}"));
  t.after(() => server.close());
  const exec = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: "/no/such/program",
    interactiveMode: "Never",
  };
  const lines = await failed(t, server.url, { user: { exec } });
  assert.equal(lines.length, 2, lines.join("\n"));
  for (const line of lines) assert.match(line, /^Failed to renew node lease: .*\/no\/such\/program/);
});

test("an outage is logged again when there is another reason for it, each reason once", () => {
  const { lines, logger } = recorder();
  const log = new OutageLog(logger, new FakeClock());
  for (const reason of ["ECONNREFUSED", "ECONNREFUSED", "certificate has expired", "ECONNREFUSED"])
    log.unreachable("server", new Error(reason));
  assert.deepEqual(lines, [
    "API server is unreachable, will keep trying: ECONNREFUSED",
    "API server is unreachable for another reason, will keep trying: certificate has expired",
  ]);
  log.reachable("server");
  log.unreachable("server", new Error("ECONNREFUSED"));
  assert.equal(lines.length, 4);
});

test("a server that stops is logged once, whether a connection is closed or refused first", () => {
  const { lines, logger } = recorder();
  const log = new OutageLog(logger, new FakeClock());
  const closed = Object.assign(new Error("disconnected before TLS was established"), { code: "ECONNRESET" });
  const refused = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  for (const error of [closed, new Error("GET /lease failed", { cause: refused }), closed])
    log.unreachable("server", error);
  assert.deepEqual(lines, [
    "API server is unreachable, will keep trying: disconnected before TLS was established",
  ]);
});
