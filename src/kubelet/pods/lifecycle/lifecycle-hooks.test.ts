import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { aPod, testUid } from "../../../../test/builders/pods.ts";
import { isAbort, KubeletError } from "../../../lib/base/errors.ts";
import { FakeClock } from "../../../lib/base/fake-clock.ts";
import { silentLogger } from "../../../lib/base/logger.ts";
import { createMetrics } from "../../../lib/base/metrics.ts";
import type { CallOptions, ContainerId } from "../../../lib/clients/cri/cri.ts";
import type { ExecSyncResponse } from "../../../lib/gen/runtime/v1/api_pb.js";
import type { Pod } from "../../../lib/model/pod.ts";
import { type Hook, type LifecycleHandler, LifecycleHooks } from "./lifecycle-hooks.ts";

const keyAndCertificate = readFileSync(
  new URL("../../../../test/fixtures/probes/self-signed.pem", import.meta.url),
);
const bytes = (text: string) => new Uint8Array(Buffer.from(text));
const execResult = (exitCode: number, stdout = "", stderr = "") =>
  ({ exitCode, stdout: bytes(stdout), stderr: bytes(stderr) }) as ExecSyncResponse;

function setUp(exec: (o?: CallOptions) => Promise<ExecSyncResponse> = async () => execResult(0)) {
  const metrics = createMetrics();
  const clock = new FakeClock();
  const events: string[] = [];
  const execs: unknown[][] = [];
  const hooks = new LifecycleHooks({
    runtime: {
      execSync: (id, command, timeout, o) => {
        execs.push([id, command, timeout]);
        return exec(o);
      },
    },
    events: {
      normal: (_: Pod, reason: string, message: string) => void events.push(`${reason}: ${message}`),
      warning: (_: Pod, reason: string, message: string) => void events.push(`${reason}! ${message}`),
    },
    clock,
    logger: silentLogger,
    metrics,
    hostIps: () => ["127.0.0.1"],
  });
  const run = (handler: LifecycleHandler, more: Partial<Hook> = {}) =>
    hooks.run({
      pod: aPod(),
      container: { name: "a" },
      id: "a-0" as ContainerId,
      handler,
      podIps: ["127.0.0.1"],
      signal: new AbortController().signal,
      ...more,
    });
  const count = async (name: string) =>
    (await metrics.registry.getSingleMetric(name)?.get())?.values[0]?.value;
  return { run, clock, events, execs, count };
}

async function listen(t: TestContext, server: Server | TcpServer, host = "127.0.0.1"): Promise<number> {
  server.listen(0, host);
  await once(server, "listening");
  t.after(() => {
    if ("closeAllConnections" in server) server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const failsWith = (message: string | RegExp) => (error: unknown) => {
  assert.ok(error instanceof KubeletError);
  assert.equal(error.code, "LifecycleHookError");
  if (typeof message === "string") assert.equal(error.message, message);
  else assert.match(error.message, message);
  return true;
};
const inPod = `for Container "a" in Pod "p_default(${testUid})" failed - error:`;

test("exec: the command runs in the container, without a timeout", async () => {
  const s = setUp();
  await s.run({ exec: { command: ["sh", "-c", "true"] } });
  assert.deepEqual(s.execs, [["a-0", ["sh", "-c", "true"], 0]]);
});

test("exec: an exit code other than 0 is a failure, with the output of the command", async () => {
  const s = setUp(async () => execResult(3, "out", 'no "x"\n'));
  await assert.rejects(
    s.run({ exec: { command: ["sh", "-c", "exit 3"] } }),
    failsWith(
      `Exec lifecycle hook ([sh -c exit 3]) ${inPod} command 'sh -c exit 3' exited with 3: no "x"\n, message: "outno \\"x\\"\\n"`,
    ),
  );
});

test("exec: only the start of a long output, and of a long command, is part of the error", async () => {
  const s = setUp(async () => execResult(3, "\x01".repeat(8_000_000), "\x02".repeat(8_000_000)));
  const lengths: number[] = [];
  for (const command of [["x"], ["y".repeat(1_000_000)]])
    await assert.rejects(s.run({ exec: { command } }), (error: Error) => {
      lengths.push(error.message.length);
      return error.message.startsWith("Exec lifecycle hook ([");
    });
  assert.deepEqual(lengths, [32 * 1024, 32 * 1024]);
});

test("exec: a runtime error is a failure", async () => {
  const s = setUp(() => Promise.reject(new Error("no such container")));
  await assert.rejects(
    s.run({ exec: { command: ["x"] } }),
    failsWith(`Exec lifecycle hook ([x]) ${inPod} no such container, message: ""`),
  );
});

test("exec: can be aborted", async () => {
  const s = setUp(
    (o) =>
      new Promise((_, reject) => o?.signal?.addEventListener("abort", () => reject(new Error("aborted")))),
  );
  const stop = new AbortController();
  const ran = assert.rejects(s.run({ exec: { command: ["x"] } }, { signal: stop.signal }), isAbort);
  stop.abort();
  await ran;
});

test("exec: an aborted command gets a minute more, and leaves no timer when it exits", async () => {
  const calls: { signal: AbortSignal | undefined; end: () => void }[] = [];
  const s = setUp(
    (o) =>
      new Promise((resolve) => {
        const result = { stdout: new Uint8Array(), stderr: new Uint8Array(), exitCode: 0 };
        calls.push({ signal: o?.signal, end: () => resolve(result as never) });
      }),
  );
  for (const exits of [false, true]) {
    const stop = new AbortController();
    const ran = assert.rejects(s.run({ exec: { command: ["x"] } }, { signal: stop.signal }), isAbort);
    stop.abort();
    await ran;
    const { signal, end } = calls.pop()!;
    await s.clock.advance(59_999);
    assert.equal(signal?.aborted, false);
    if (exits) end();
    await s.clock.advance(1);
    assert.equal(signal?.aborted, !exits);
    assert.equal(s.clock.pending, 0);
  }
});

test("httpGet: any response is a success", async (t) => {
  const s = setUp();
  for (const status of [200, 204, 404, 500]) {
    const requests: unknown[] = [];
    const port = await listen(
      t,
      createServer((request, response) => {
        requests.push([request.method, request.url, request.headers.host, request.headers["user-agent"]]);
        response.writeHead(status).end();
      }),
    );
    await s.run({ httpGet: { port, path: "/x?y" } });
    assert.deepEqual(
      requests,
      [["GET", "/x?y", `127.0.0.1:${port}`, "kube-lifecycle/1.36"]],
      `status ${status}`,
    );
  }
});

test("httpGet: uses a named port of the container, and sends headers", async (t) => {
  const s = setUp();
  let received: unknown;
  const port = await listen(
    t,
    createServer((request, response) => {
      received = [request.headers.host, request.headers["x-a"]];
      response.end("bye");
    }),
  );
  const httpHeaders = [
    { name: "Host", value: "web" },
    { name: "X-A", value: "1" },
    { name: "X-A", value: "2" },
  ];
  await s.run(
    { httpGet: { port: "web", httpHeaders } },
    { container: { name: "a", ports: [{ name: "web", containerPort: port }] } },
  );
  assert.deepEqual(received, ["web", "1, 2"]);
});

test("httpGet: a pod in the host's network is reached at the host's address, any other needs its own", async (t) => {
  const s = setUp();
  let requests = 0;
  const port = await listen(
    t,
    createServer((_, response) => {
      requests++;
      response.end();
    }),
  );
  await s.run({ httpGet: { port } }, { pod: aPod({ hostNetwork: true }), podIps: [] });
  assert.equal(requests, 1);
  await assert.rejects(
    s.run({ httpGet: { port } }, { podIps: [] }),
    failsWith(/failed to find networking container/),
  );
});

test("httpGet: a closed port is a failure", async (t) => {
  const s = setUp();
  const server = createTcpServer();
  const port = await listen(t, server);
  server.close();
  await once(server, "close");
  await assert.rejects(
    s.run({ httpGet: { port, path: "/x" } }),
    failsWith(
      `HTTP lifecycle hook (/x) ${inPod} Get "http://127.0.0.1:${port}/x": dial tcp 127.0.0.1:${port}: connect: connection refused`,
    ),
  );
});

test("httpGet: a server that closes the connection without a response is a failure", async (t) => {
  const s = setUp();
  const port = await listen(
    t,
    createTcpServer((socket) => void socket.once("data", () => socket.destroy())),
  );
  await assert.rejects(s.run({ httpGet: { port } }), failsWith(/: EOF$/));
});

test("httpGet: a server that switches protocols has responded", { timeout: 20_000 }, async (t) => {
  const s = setUp();
  const closed = Promise.withResolvers<void>();
  const port = await listen(
    t,
    createTcpServer((socket) => {
      socket.on("error", () => {}).once("close", () => closed.resolve());
      socket.once("data", () =>
        socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
      );
    }),
  );
  await s.run({ httpGet: { port } });
  await closed.promise;
});

test("httpGet: a response is read up to a limit", async (t) => {
  const s = setUp();
  for (const head of [{ "content-length": 1e9 }, {}]) {
    const closed = Promise.withResolvers<void>();
    const port = await listen(
      t,
      createServer((_, response) => {
        response.writeHead(200, head).write("x".repeat(20_000));
        response.once("close", closed.resolve);
      }),
    );
    await s.run({ httpGet: { port } });
    await closed.promise;
  }
});

test("httpGet: can be aborted", async (t) => {
  const s = setUp();
  const stop = new AbortController();
  const port = await listen(
    t,
    createServer(() => stop.abort()),
  );
  await assert.rejects(s.run({ httpGet: { port } }, { signal: stop.signal }), isAbort);
});

const to =
  (location: string, status = 302): RequestListener =>
  (_, response) =>
    void response.writeHead(status, { location }).end();

test("httpGet: redirects are followed within the host, but not to another host", async (t) => {
  const s = setUp();
  const requests: string[] = [];
  const second = await listen(
    t,
    createServer((request, response) => {
      requests.push(`${request.url} ${request.headers.host} ${request.headers["x-a"]}`);
      response.end();
    }),
  );
  for (const status of [301, 302, 303, 307, 308]) {
    const first = await listen(t, createServer(to(`http://127.0.0.1:${second}/next?q`, status)));
    await s.run({ httpGet: { port: first, httpHeaders: [{ name: "X-A", value: "1" }] } });
    assert.deepEqual(requests.splice(0), [`/next?q 127.0.0.1:${second} 1`], `status ${status}`);
  }
  const redirecting = await listen(t, createServer(to(`http://localhost:${second}/`)));
  await s.run({ httpGet: { port: redirecting } });
  assert.deepEqual(requests, []);
});

test("httpGet: a redirect loop is a failure", async (t) => {
  const s = setUp();
  let requests = 0;
  const port = await listen(
    t,
    createServer((request, response) => {
      requests++;
      to("/again")(request, response);
    }),
  );
  await assert.rejects(s.run({ httpGet: { port } }), failsWith(/: stopped after 10 redirects$/));
  assert.equal(requests, 10);
});

test("httpGet: HTTPS accepts any certificate", async (t) => {
  const s = setUp();
  let requests = 0;
  const server = createTlsServer({ key: keyAndCertificate, cert: keyAndCertificate }, (_, response) => {
    requests++;
    response.end();
  });
  const port = await listen(t, server);
  await s.run({ httpGet: { port, scheme: "HTTPS" } });
  assert.equal(requests, 1);
  assert.deepEqual(s.events, []);
});

// parity: event LifecycleHTTPFallback
// parity: metric /metrics kubelet_lifecycle_handler_http_fallbacks_total
test("httpGet: HTTPS to a server that speaks HTTP falls back, without credentials", async (t) => {
  const s = setUp();
  const requests: unknown[] = [];
  const port = await listen(
    t,
    createServer((request, response) => {
      requests.push([request.url, request.headers.authorization, request.headers["x-a"]]);
      response.end();
    }),
  );
  const httpHeaders = [
    { name: "Authorization", value: "Bearer secret" },
    { name: "X-A", value: "1" },
  ];
  await s.run({ httpGet: { port, path: "/x", scheme: "HTTPS", httpHeaders } });
  assert.deepEqual(requests, [["/x", undefined, "1"]]);
  assert.deepEqual(s.events, [
    `LifecycleHTTPFallback! request to HTTPS lifecycle hook 127.0.0.1:${port} got HTTP response, retry with HTTP succeeded`,
  ]);
  assert.equal(await s.count("kubelet_lifecycle_handler_http_fallbacks_total"), 1);
});

test("httpGet: HTTPS to a server that speaks neither is a failure", async (t) => {
  const s = setUp();
  const port = await listen(
    t,
    createTcpServer((socket) => void socket.once("data", () => socket.end("220 mail ready\r\n"))),
  );
  await assert.rejects(
    s.run({ httpGet: { port, scheme: "HTTPS" } }),
    failsWith(/: tls: first record does not look like a TLS handshake$/),
  );
  assert.deepEqual(s.events, []);
  assert.equal(await s.count("kubelet_lifecycle_handler_http_fallbacks_total"), 0);
});

// parity: gate PodLifecycleSleepAction=true as sleep
test("sleep: lasts as long as specified", async () => {
  const s = setUp();
  let done = false;
  const slept = s.run({ sleep: { seconds: 5 } }).then(() => {
    done = true;
  });
  await s.clock.advance(4999);
  assert.equal(done, false);
  await s.clock.advance(1);
  await slept;
  assert.equal(await s.count("kubelet_sleep_action_terminated_early_total"), 0);
});

// parity: gate PodLifecycleSleepActionAllowZero=true as sleep
test("sleep: may be of 0 seconds", async () => {
  const s = setUp();
  const slept = s.run({ sleep: { seconds: 0 } });
  await s.clock.advance(0);
  await slept;
  assert.equal(s.clock.pending, 0);
});

// parity: metric /metrics kubelet_sleep_action_terminated_early_total
test("sleep: ends when it is aborted", async () => {
  const s = setUp();
  const stop = new AbortController();
  const slept = assert.rejects(s.run({ sleep: { seconds: 5 } }, { signal: stop.signal }), isAbort);
  stop.abort();
  await slept;
  assert.equal(s.clock.pending, 0);
  assert.equal(await s.count("kubelet_sleep_action_terminated_early_total"), 1);
});

const rejected: [rule: string, handler: LifecycleHandler, described: string][] = [
  ["tcpSocket", { tcpSocket: { port: 80 } }, "&TCPSocketAction{Port:{0 80 },Host:,}"],
  [
    "tcpSocket with names",
    { tcpSocket: { port: "web", host: "h" } },
    "&TCPSocketAction{Port:{1 0 web},Host:h,}",
  ],
  ["an empty handler", {}, "nil"],
];
for (const [rule, handler, described] of rejected)
  test(`an invalid handler is rejected: ${rule}`, async () => {
    await assert.rejects(
      setUp().run(handler),
      failsWith(
        `Cannot run handler: invalid handler: &LifecycleHandler{Exec:nil,HTTPGet:nil,TCPSocket:${described},Sleep:nil,}`,
      ),
    );
  });

test("an aborted hook is not started", async () => {
  const s = setUp();
  await assert.rejects(s.run({ exec: { command: ["x"] } }, { signal: AbortSignal.abort() }), isAbort);
  assert.deepEqual(s.execs, []);
});

test("httpGet: a DNS server without a route is not a host that refuses connections", {
  skip: process.getuid?.() !== 0 && "needs root",
}, () => {
  const script = `
    import { httpGet } from ${JSON.stringify(join(import.meta.dirname, "http-get.ts"))};
    const request = { scheme: "http", host: "web.test", port: 80, path: "/", headers: [] };
    await httpGet(request, new AbortController().signal).catch(({ message }) => console.log(message));
  `;
  const args = ["--net", process.execPath, "--input-type=module", "-e", script];
  const { stdout, stderr } = spawnSync("unshare", args, { encoding: "utf8", timeout: 60_000 });
  assert.equal(stdout, 'Get "http://web.test:80/": dial tcp: lookup web.test: connection refused\n', stderr);
});
