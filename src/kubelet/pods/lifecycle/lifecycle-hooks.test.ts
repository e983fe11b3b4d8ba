import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from "node:net";
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
const answer = (exitCode: number, stdout = "", stderr = "") =>
  ({ exitCode, stdout: bytes(stdout), stderr: bytes(stderr) }) as ExecSyncResponse;

function setUp(exec: (o?: CallOptions) => Promise<ExecSyncResponse> = async () => answer(0)) {
  const metrics = createMetrics();
  const clock = new FakeClock();
  const said: string[] = [];
  const execs: unknown[][] = [];
  const hooks = new LifecycleHooks({
    runtime: {
      execSync: (id, command, timeout, o) => {
        execs.push([id, command, timeout]);
        return exec(o);
      },
    },
    events: {
      normal: (_: Pod, reason: string, message: string) => void said.push(`${reason}: ${message}`),
      warning: (_: Pod, reason: string, message: string) => void said.push(`${reason}! ${message}`),
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
  return { run, clock, said, execs, count };
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

test("exec: the command runs in the container, for as long as it takes", async () => {
  const s = setUp();
  await s.run({ exec: { command: ["sh", "-c", "true"] } });
  assert.deepEqual(s.execs, [["a-0", ["sh", "-c", "true"], 0]]);
});

test("exec: an exit code other than 0 is a failure, told with what the command wrote", async () => {
  const s = setUp(async () => answer(3, "out", 'no "x"\n'));
  await assert.rejects(
    s.run({ exec: { command: ["sh", "-c", "exit 3"] } }),
    failsWith(
      `Exec lifecycle hook ([sh -c exit 3]) ${inPod} command 'sh -c exit 3' exited with 3: no "x"\n, message: "outno \\"x\\"\\n"`,
    ),
  );
});

test("exec: what the runtime cannot run is a failure", async () => {
  const s = setUp(() => Promise.reject(new Error("no such container")));
  await assert.rejects(
    s.run({ exec: { command: ["x"] } }),
    failsWith(`Exec lifecycle hook ([x]) ${inPod} no such container, message: ""`),
  );
});

test("exec: who waits for it may stop waiting", async () => {
  const s = setUp(
    (o) => new Promise((_, reject) => o?.signal?.addEventListener("abort", () => reject(new Error("cut")))),
  );
  const patience = new AbortController();
  const ran = assert.rejects(s.run({ exec: { command: ["x"] } }, { signal: patience.signal }), isAbort);
  patience.abort();
  await ran;
});

test("exec: a command that nobody waits for gets a minute more, and holds nothing when it ends", async () => {
  const calls: { signal: AbortSignal | undefined; end: () => void }[] = [];
  const s = setUp(
    (o) =>
      new Promise((resolve) => {
        const answer = { stdout: new Uint8Array(), stderr: new Uint8Array(), exitCode: 0 };
        calls.push({ signal: o?.signal, end: () => resolve(answer as never) });
      }),
  );
  for (const ends of [false, true]) {
    const patience = new AbortController();
    const ran = assert.rejects(s.run({ exec: { command: ["x"] } }, { signal: patience.signal }), isAbort);
    patience.abort();
    await ran;
    const { signal, end } = calls.pop()!;
    await s.clock.advance(59_999);
    assert.equal(signal?.aborted, false);
    if (ends) end();
    await s.clock.advance(1);
    assert.equal(signal?.aborted, !ends);
    assert.equal(s.clock.pending, 0);
  }
});

test("httpGet: any answer is a success", async (t) => {
  const s = setUp();
  for (const status of [200, 204, 404, 500]) {
    const asked: unknown[] = [];
    const port = await listen(
      t,
      createServer((request, response) => {
        asked.push([request.method, request.url, request.headers.host, request.headers["user-agent"]]);
        response.writeHead(status).end();
      }),
    );
    await s.run({ httpGet: { port, path: "/x?y" } });
    assert.deepEqual(
      asked,
      [["GET", "/x?y", `127.0.0.1:${port}`, "kube-lifecycle/1.36"]],
      `status ${status}`,
    );
  }
});

test("httpGet: a named port of the container, and headers", async (t) => {
  const s = setUp();
  let got: unknown;
  const port = await listen(
    t,
    createServer((request, response) => {
      got = [request.headers.host, request.headers["x-a"]];
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
  assert.deepEqual(got, ["web", "1, 2"]);
});

test("httpGet: a pod on the host's network is asked at the host's address, any other needs its own", async (t) => {
  const s = setUp();
  let asked = 0;
  const port = await listen(
    t,
    createServer((_, response) => {
      asked++;
      response.end();
    }),
  );
  await s.run({ httpGet: { port } }, { pod: aPod({ hostNetwork: true }), podIps: [] });
  assert.equal(asked, 1);
  await assert.rejects(
    s.run({ httpGet: { port } }, { podIps: [] }),
    failsWith(/failed to find networking container/),
  );
});

test("httpGet: nobody listens", async (t) => {
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

test("httpGet: a server that hangs up", async (t) => {
  const s = setUp();
  const port = await listen(
    t,
    createTcpServer((socket) => void socket.once("data", () => socket.destroy())),
  );
  await assert.rejects(s.run({ httpGet: { port } }), failsWith(/: EOF$/));
});

test("httpGet: only so much of an answer is read", async (t) => {
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

test("httpGet: who waits for it may stop waiting", async (t) => {
  const s = setUp();
  const patience = new AbortController();
  const port = await listen(
    t,
    createServer(() => patience.abort()),
  );
  await assert.rejects(s.run({ httpGet: { port } }, { signal: patience.signal }), isAbort);
});

const to =
  (location: string, status = 302): RequestListener =>
  (_, response) =>
    void response.writeHead(status, { location }).end();

test("httpGet: redirects are followed within the host, to another they are not", async (t) => {
  const s = setUp();
  const asked: string[] = [];
  const second = await listen(
    t,
    createServer((request, response) => {
      asked.push(`${request.url} ${request.headers.host} ${request.headers["x-a"]}`);
      response.end();
    }),
  );
  for (const status of [301, 302, 303, 307, 308]) {
    const first = await listen(t, createServer(to(`http://127.0.0.1:${second}/next?q`, status)));
    await s.run({ httpGet: { port: first, httpHeaders: [{ name: "X-A", value: "1" }] } });
    assert.deepEqual(asked.splice(0), [`/next?q 127.0.0.1:${second} 1`], `status ${status}`);
  }
  const away = await listen(t, createServer(to(`http://localhost:${second}/`)));
  await s.run({ httpGet: { port: away } });
  assert.deepEqual(asked, []);
});

test("httpGet: a server that sends us round in circles", async (t) => {
  const s = setUp();
  let asked = 0;
  const port = await listen(
    t,
    createServer((request, response) => {
      asked++;
      to("/again")(request, response);
    }),
  );
  await assert.rejects(s.run({ httpGet: { port } }), failsWith(/: stopped after 10 redirects$/));
  assert.equal(asked, 10);
});

test("httpGet: HTTPS, whatever the certificate", async (t) => {
  const s = setUp();
  let asked = 0;
  const server = createTlsServer({ key: keyAndCertificate, cert: keyAndCertificate }, (_, response) => {
    asked++;
    response.end();
  });
  const port = await listen(t, server);
  await s.run({ httpGet: { port, scheme: "HTTPS" } });
  assert.equal(asked, 1);
  assert.deepEqual(s.said, []);
});

test("httpGet: HTTPS to a server that speaks HTTP falls back, without credentials", async (t) => {
  const s = setUp();
  const asked: unknown[] = [];
  const port = await listen(
    t,
    createServer((request, response) => {
      asked.push([request.url, request.headers.authorization, request.headers["x-a"]]);
      response.end();
    }),
  );
  const httpHeaders = [
    { name: "Authorization", value: "Bearer secret" },
    { name: "X-A", value: "1" },
  ];
  await s.run({ httpGet: { port, path: "/x", scheme: "HTTPS", httpHeaders } });
  assert.deepEqual(asked, [["/x", undefined, "1"]]);
  assert.deepEqual(s.said, [
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
  assert.deepEqual(s.said, []);
  assert.equal(await s.count("kubelet_lifecycle_handler_http_fallbacks_total"), 0);
});

test("sleep: as long as asked for", async () => {
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

test("sleep: ends when nobody waits any more", async () => {
  const s = setUp();
  const patience = new AbortController();
  const slept = assert.rejects(s.run({ sleep: { seconds: 5 } }, { signal: patience.signal }), isAbort);
  patience.abort();
  await slept;
  assert.equal(s.clock.pending, 0);
  assert.equal(await s.count("kubelet_sleep_action_terminated_early_total"), 1);
});

const refused: [rule: string, handler: LifecycleHandler, described: string][] = [
  ["tcpSocket", { tcpSocket: { port: 80 } }, "&TCPSocketAction{Port:{0 80 },Host:,}"],
  [
    "tcpSocket with names",
    { tcpSocket: { port: "web", host: "h" } },
    "&TCPSocketAction{Port:{1 0 web},Host:h,}",
  ],
  ["nothing at all", {}, "nil"],
];
for (const [rule, handler, described] of refused)
  test(`a hook that is none is refused: ${rule}`, async () => {
    await assert.rejects(
      setUp().run(handler),
      failsWith(
        `Cannot run handler: invalid handler: &LifecycleHandler{Exec:nil,HTTPGet:nil,TCPSocket:${described},Sleep:nil,}`,
      ),
    );
  });

test("a hook that nobody waits for is not begun", async () => {
  const s = setUp();
  await assert.rejects(s.run({ exec: { command: ["x"] } }, { signal: AbortSignal.abort() }), isAbort);
  assert.deepEqual(s.execs, []);
});
