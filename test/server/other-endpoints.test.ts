import assert from "node:assert/strict";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { send, testAuthority, testPair } from "../../src/kubelet/server/fixtures.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { GuardedNode, secret } from "./guarded-node.ts";

const pod = "web-node-a";
const exec = `/exec/default/${pod}/app?output=1&command=secret`;
const ways = [
  "/pods",
  "/metrics",
  "/stats/summary",
  "/logs/",
  `/containerLogs/default/${pod}/app`,
  exec,
  "/configz",
];
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

interface Endpoint {
  readonly port?: number;
  readonly socketPath?: string;
}

/** Sends bytes to a plain HTTP endpoint and returns all received data when the connection is closed. */
async function raw(endpoint: Endpoint, bytes: string): Promise<string> {
  const socket = endpoint.socketPath
    ? connect(endpoint.socketPath)
    : connect(endpoint.port ?? 0, "127.0.0.1");
  let text = "";
  socket
    .on("error", () => {})
    .on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
  socket.write(bytes, "latin1");
  await new Promise((resolve) => socket.once("close", resolve));
  return text;
}

const get = (path: string, more = "") =>
  `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${more}\r\n`;

describe("a node without a cluster and with default configuration", () => {
  let node: GuardedNode;
  let stop: () => Promise<void>;
  before(async () => {
    ({ node, stop } = await GuardedNode.start({ standalone: true, authentication: { x509: {} } }));
  });
  after(() => stop?.());

  const clients: [string, () => object][] = [
    ["no credentials", () => ({})],
    ["a token", () => bearer("good-admin")],
    ["an unrequested certificate", () => node.admin],
    ["a self-signed certificate", () => testPair(testAuthority(), "admin")],
  ];
  // parity: field port
  for (const [who, credentials] of clients)
    for (const path of ways)
      test(`${who} is rejected at ${path}`, async () => {
        const { status, body } = await send(node.port, path, { ...credentials() });
        assert.equal(status, 401, body);
        assert.ok(!body.includes(secret));
      });

  test("there is no port without authentication", async () => {
    await assert.rejects(once(connect(node.readOnlyPort, "127.0.0.1"), "connect"), /ECONNREFUSED/);
  });

  test("root sees its pods on the socket, and no other user may open it", async () => {
    const { mode } = await stat(join(node.rootDir, "kubelet.sock"));
    assert.equal(mode & 0o777, 0o600);
  });
});

describe("a node with anonymous authentication", () => {
  let node: GuardedNode;
  let stop: () => Promise<void>;
  before(async () => {
    ({ node, stop } = await GuardedNode.start({ authentication: { anonymous: { enabled: true } } }));
  });
  after(() => stop?.());

  for (const path of ways)
    test(`an anonymous client may not read ${path}`, async () => {
      const { status, body } = await send(node.port, path, {});
      assert.equal(status, 403, body);
      assert.match(body, /^Forbidden \(user=system:anonymous/);
    });

  test("a client with an invalid token is rejected, not anonymous", async () => {
    assert.equal((await send(node.port, "/pods", bearer("unknown"))).status, 401);
    assert.equal((await send(node.port, "/pods", bearer("good-admin"))).status, 200);
  });
});

describe("the health of a node", () => {
  let node: GuardedNode;
  let stop: () => Promise<void>;
  before(async () => {
    ({ node, stop } = await GuardedNode.start({}));
  });
  after(() => stop?.());
  const names = ["ping", "log", "syncloop", "device-plugin"];

  test("?verbose lists the checks of the Go kubelet", async () => {
    const { status, body } = await send(node.port, "/healthz?verbose", bearer("good-admin"));
    const lines = names.map((name) => `[+]${name} ok\n`);
    assert.deepEqual([status, body], [200, `${lines.join("")}healthz check passed\n`]);
  });

  // parity: endpoint 10250 GET /healthz/log, endpoint 10250 GET /healthz/syncloop
  test("each check has its own path", async () => {
    for (const path of ["/healthz/ping", "/healthz/log", "/healthz/syncloop", "/healthz/device-plugin"]) {
      const { status, body } = await send(node.port, path, bearer("good-admin"));
      assert.deepEqual([status, body], [200, "ok"], path);
    }
    assert.equal((await send(node.port, "/healthz/pleg", bearer("good-admin"))).status, 404);
  });

  test("/allocatedPods does not exist, as in v1.36.4", async () => {
    assert.equal((await send(node.port, "/allocatedPods", bearer("good-admin"))).status, 404);
  });
});

describe("the plain HTTP endpoints", () => {
  let node: GuardedNode;
  let stop: () => Promise<void>;
  let baselineFiles = 0;
  before(async () => {
    ({ node, stop } = await GuardedNode.start({ readOnly: true }));
    baselineFiles = node.openFiles();
  });
  after(() => stop?.());

  const endpoints: [string, () => Endpoint, string][] = [
    ["read-only port", () => ({ port: node.readOnlyPort }), "/healthz"],
    ["health port", () => ({ port: node.healthPort }), "/healthz"],
    ["local socket", () => ({ socketPath: join(node.rootDir, "kubelet.sock") }), "/pods"],
  ];
  const assertServed = async (endpoint: Endpoint, path: string) => {
    const call = request({ host: "127.0.0.1", ...endpoint, path, agent: false });
    call.end();
    const [response] = await once(call, "response");
    assert.equal(response.statusCode, 200);
    response.resume();
    node.assertHealthy();
  };

  for (const [name, endpoint, validPath] of endpoints) {
    // The read-only port responds to disabled paths with 405, other endpoints with 404.
    const closed =
      name === "read-only port" ? /^HTTP\/1\.1 405 .*Debug endpoints are disabled\.\n$/s : /^HTTP\/1\.1 404/;
    const requests: [string, RegExp][] = [
      [get("/configz"), /^HTTP\/1\.1 404/],
      [get("/logs/"), closed],
      [get("/debug/pprof/"), /^HTTP\/1\.1 40[45]/],
      [get("/debug/pprof/heap"), /^HTTP\/1\.1 40[45]/],
      [get(`/containerLogs/default/${pod}/app`), closed],
      [get("/debug/blocked"), /^HTTP\/1\.1 404/],
      [get("/runningpods/"), closed],
      [get("/%2e%2e/etc/passwd"), /^HTTP\/1\.1 40[04]/],
      [get("/%00"), /^HTTP\/1\.1 40[04]/],
      [get("/%zz"), /^HTTP\/1\.1 40[04]/],
      [get("//"), /^HTTP\/1\.1 (307|40[04])/],
      [get("http://evil.example/configz"), /^HTTP\/1\.1 404/],
      [get("pods"), /^HTTP\/1\.1 400/],
      [get(exec, "upgrade: SPDY/3.1\r\nconnection: upgrade\r\n"), /^HTTP\/1\.1 40[045]|^$/],
      ["OPTIONS * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", /^HTTP\/1\.1 40[04]/],
      ["CONNECT evil.example:443 HTTP/1.1\r\nhost: x\r\n\r\n", /^$|^HTTP\/1\.1 405/],
      [
        `POST ${validPath} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
        name === "health port" ? /^HTTP\/1\.1 200/ : /^HTTP\/1\.1 40[45]/,
      ],
      ["\x16\x03\x01\x02\x00\x01\r\n\r\n", /^HTTP\/1\.1 400/],
      [get("/", `a: ${"x".repeat(1_200_000)}\r\n`), /^HTTP\/1\.1 431|^$/],
      [
        `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${get("/x")}`,
        /^HTTP\/1\.1 400/,
      ],
    ];
    for (const [bytes, response] of requests)
      test(`${name}: ${JSON.stringify(bytes.slice(0, 60))} gets ${response.source}`, async () => {
        const text = await raw(endpoint(), bytes);
        assert.match(text, response);
        assert.ok(!text.includes(secret));
        await assertServed(endpoint(), validPath);
      });
  }

  for (const [name, endpoint, validPath] of endpoints)
    test(`${name}: 2,000 idle connections do not block other clients, and leak nothing`, async () => {
      const { port, socketPath } = endpoint();
      // A unix socket rejects connections beyond its backlog.
      let settled = 0;
      const all = Array.from({ length: 2000 }, () =>
        (socketPath ? connect(socketPath) : connect(port ?? 0, "127.0.0.1"))
          .on("error", () => {})
          .once("connect", () => settled++)
          .once("close", (hadError) => void (hadError && settled++)),
      );
      await waitFor(() => assert.ok(settled >= 2000));
      for (let i = 0; i < 5; i++) await assertServed(endpoint(), validPath);
      assert.ok(node.openFiles() < baselineFiles + 1100, `${node.openFiles()} files`);
      for (const socket of all) socket.destroy();
      await waitFor(() => assert.ok(node.openFiles() <= baselineFiles + 5));
    });

  test("the health port serves neither metrics nor statistics nor pods", async () => {
    for (const path of ["/metrics", "/stats/summary", "/pods"])
      assert.match(await raw({ port: node.healthPort }, get(path)), /^HTTP\/1\.1 404/);
  });

  // parity: endpoint 10255 GET /pods, endpoint 10255 GET /metrics, endpoint 10255 GET /stats/summary, endpoint 10255 GET /healthz
  // parity: endpoint 10255 GET /metrics/cadvisor, endpoint 10255 GET /metrics/resource, endpoint 10255 GET /metrics/probes
  test("the read-only port serves its pages, and rejects changes", async () => {
    const endpoint = { port: node.readOnlyPort };
    const metrics = [
      "/metrics",
      "/metrics/cadvisor",
      "/metrics/resource",
      "/metrics/probes",
      "/metrics/slis",
    ];
    const pages = ["/pods", "/stats/summary", "/healthz", ...metrics];
    for (const path of pages) await assertServed(endpoint, path);
    for (const [line, response] of [
      ["POST /debug/flags/v", /^HTTP\/1\.1 404/],
      [`POST /run/default/${pod}/app?cmd=id`, /^HTTP\/1\.1 405/],
      [`POST /checkpoint/default/${pod}/app`, /^HTTP\/1\.1 404/],
      ["DELETE /metrics/slis", /^HTTP\/1\.1 405/],
    ] as const)
      assert.match(
        await raw(endpoint, `${line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`),
        response,
      );
  });
});
