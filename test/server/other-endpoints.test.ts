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

interface Where {
  readonly port?: number;
  readonly socketPath?: string;
}

/** Sends bytes to a plain endpoint and returns all that comes until it is closed. */
async function raw(where: Where, bytes: string): Promise<string> {
  const socket = where.socketPath ? connect(where.socketPath) : connect(where.port ?? 0, "127.0.0.1");
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

  const callers: [string, () => object][] = [
    ["no credentials", () => ({})],
    ["a token", () => bearer("good-admin")],
    ["an unrequested certificate", () => node.admin],
    ["a self-signed certificate", () => testPair(testAuthority(), "admin")],
  ];
  for (const [who, credentials] of callers)
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
    test(`${path}: they have no permissions`, async () => {
      const { status, body } = await send(node.port, path, {});
      assert.equal(status, 403, body);
      assert.match(body, /^Forbidden \(user=system:anonymous/);
    });

  test("a client with an invalid token is not anonymous, but rejected", async () => {
    assert.equal((await send(node.port, "/pods", bearer("unknown"))).status, 401);
    assert.equal((await send(node.port, "/pods", bearer("good-admin"))).status, 200);
  });
});

describe("the plain HTTP endpoints", () => {
  let node: GuardedNode;
  let stop: () => Promise<void>;
  let quietFiles = 0;
  before(async () => {
    ({ node, stop } = await GuardedNode.start({ readOnly: true }));
    quietFiles = node.openFiles();
  });
  after(() => stop?.());

  const endpoints: [string, () => Where, string][] = [
    ["read-only port", () => ({ port: node.readOnlyPort }), "/healthz"],
    ["health port", () => ({ port: node.healthPort }), "/healthz"],
    ["local socket", () => ({ socketPath: join(node.rootDir, "kubelet.sock") }), "/pods"],
  ];
  const isGood = async (where: Where, path: string) => {
    const call = request({ host: "127.0.0.1", ...where, path, agent: false });
    call.end();
    const [response] = await once(call, "response");
    assert.equal(response.statusCode, 200);
    response.resume();
    node.isSound();
  };

  for (const [name, where, good] of endpoints) {
    // The response of the other port is expected here, and that it is not for this one.
    const closed =
      name === "read-only port" ? /^HTTP\/1\.1 405 .*Debug endpoints are disabled\.\n$/s : /^HTTP\/1\.1 404/;
    const tricks: [string, RegExp][] = [
      [get("/configz"), /^HTTP\/1\.1 404/],
      [get("/logs/"), closed],
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
        `POST ${good} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
        /^HTTP\/1\.1 40[45]/,
      ],
      ["\x16\x03\x01\x02\x00\x01\r\n\r\n", /^HTTP\/1\.1 400/],
      [get("/", `a: ${"x".repeat(1_200_000)}\r\n`), /^HTTP\/1\.1 431|^$/],
      [
        `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${get("/x")}`,
        /^HTTP\/1\.1 400/,
      ],
    ];
    for (const [bytes, response] of tricks)
      test(`${name}: ${JSON.stringify(bytes.slice(0, 60))} gets ${response.source}`, async () => {
        const text = await raw(where(), bytes);
        assert.match(text, response);
        assert.ok(!text.includes(secret));
        await isGood(where(), good);
      });
  }

  for (const [name, where, good] of endpoints)
    test(`${name}: 2,000 silent connections keep no client out, and leave nothing behind`, async () => {
      const { port, socketPath } = where();
      // A unix socket rejects connections beyond its backlog.
      let came = 0;
      const all = Array.from({ length: 2000 }, () =>
        (socketPath ? connect(socketPath) : connect(port ?? 0, "127.0.0.1"))
          .on("error", () => {})
          .once("connect", () => came++)
          .once("close", (hadError) => void (hadError && came++)),
      );
      await waitFor(() => assert.ok(came >= 2000));
      for (let i = 0; i < 5; i++) await isGood(where(), good);
      assert.ok(node.openFiles() < quietFiles + 1100, `${node.openFiles()} files`);
      for (const socket of all) socket.destroy();
      await waitFor(() => assert.ok(node.openFiles() <= quietFiles + 5));
    });

  test("the read-only port shows what it is meant to show, and changes nothing", async () => {
    const where = { port: node.readOnlyPort };
    for (const path of ["/pods", "/metrics", "/metrics/slis", "/stats/summary", "/healthz"])
      await isGood(where, path);
    for (const [line, response] of [
      ["POST /debug/flags/v", /^HTTP\/1\.1 404/],
      [`POST /run/default/${pod}/app?cmd=id`, /^HTTP\/1\.1 405/],
      [`POST /checkpoint/default/${pod}/app`, /^HTTP\/1\.1 404/],
      ["DELETE /metrics/slis", /^HTTP\/1\.1 405/],
    ] as const)
      assert.match(
        await raw(where, `${line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`),
        response,
      );
  });
});
