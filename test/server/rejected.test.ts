import assert from "node:assert/strict";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { connect as connectPlain } from "node:net";
import { basename } from "node:path";
import { after, before, describe, test } from "node:test";
import { rawTls, send, type TestPair, testAuthority, testPair } from "../../src/kubelet/server/fixtures.ts";
import { nodeName } from "../cluster/cluster-node.ts";
import { GuardedNode, secret } from "./guarded-node.ts";

const day = 86_400_000;
const pod = `web-${nodeName}`;
const logDir = `/var/log/guard-${process.pid}`;
const logs = `/logs/${basename(logDir)}`;
let node: GuardedNode;
let stop: () => Promise<void>;
/** The duration of a valid request on an idle agent. */
let baselineMs = 0;

before(async () => {
  mkdirSync(`${logDir}/inside`, { recursive: true });
  writeFileSync(`${logDir}/inside/own.log`, "a line\n");
  writeFileSync(`/tmp/outside-${process.pid}`, secret);
  symlinkSync(`/tmp/outside-${process.pid}`, `${logDir}/absolute`);
  symlinkSync(`../../../tmp/outside-${process.pid}`, `${logDir}/relative`);
  symlinkSync("/", `${logDir}/root`);
  symlinkSync("inside", `${logDir}/directory`);
  symlinkSync("loop", `${logDir}/loop`);
  symlinkSync("/proc/self/environ", `${logDir}/environment`);
  ({ node, stop } = await GuardedNode.start());
  for (let i = 0; i < 5; i++) baselineMs = Math.max(baselineMs, await node.timeValidRequest());
});

after(async () => {
  await stop?.();
  for (const path of [logDir, `/tmp/outside-${process.pid}`]) rmSync(path, { recursive: true, force: true });
});

/** The next valid request is served quickly (retried because of other load), without unexpected errors. */
async function assertResponsive(): Promise<void> {
  let took = await node.timeValidRequest();
  for (let i = 0; i < 4 && took > 50 * baselineMs; i++) took = await node.timeValidRequest();
  assert.ok(took < 50 * baselineMs, `${took} ms, ${baselineMs} ms when idle`);
  node.assertHealthy();
}

interface Case {
  readonly name: string;
  readonly path?: string;
  readonly method?: string;
  readonly pair?: () => TestPair;
  readonly token?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly status: number;
  readonly message?: RegExp;
}

const admin = () => node.admin;
const signed =
  (o: Parameters<typeof testPair>[2], name = "admin") =>
  () =>
    testPair(node.ca, name, o);
const otherCa = testAuthority("other");
/** An intermediate CA of the CA for clients. */
const intermediate = () => testAuthority("between", node.ca);

function signedByLeaf(): TestPair {
  const { cert } = testPair(node.ca, "leaf");
  // An authority with the name of the leaf: no signer signs with a certificate that is not a CA.
  return testPair(testAuthority("leaf"), "admin", { chain: cert });
}

const upgradeTo = (protocol: string, more: Record<string, string> = {}) => ({
  connection: "Upgrade",
  upgrade: protocol,
  ...more,
});
const webSocket = upgradeTo("websocket", {
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  "sec-websocket-protocol": "v5.channel.k8s.io",
});
const spdy = upgradeTo("SPDY/3.1", { "x-stream-protocol-version": "v4.channel.k8s.io" });
const exec = `/exec/default/${pod}/app?output=1&command=secret`;
const attach = `/attach/default/${pod}/app?output=1`;
const forward = `/portForward/default/${pod}`;
const run = `/run/default/${pod}/app?cmd=id`;
const log = `/containerLogs/default/${pod}/app`;

/** All endpoints of the server. */
const endpoints: readonly (readonly [string, string?, Record<string, string>?])[] = [
  ...([["/pods"], ["/runningpods/"], ["/configz"], ["/stats/summary"], ["/metrics"]] as const),
  ...([
    ["/metrics/cadvisor"],
    ["/metrics/resource"],
    ["/metrics/probes"],
    ["/metrics/slis"],
    ["/logs/"],
    [`${logs}/absolute`],
  ] as const),
  ...([[log], [`${log}?follow=true`], ["/debug/blocked"], ["/debug/pprof/heap"], ["/healthz"]] as const),
  ...([["/debug/pprof/profile?seconds=1"], ["/statusz"], ["/flagz"], ["/healthz/syncloop"]] as const),
  ["/stats/summary", "POST"],
  ["/metrics/slis", "DELETE"],
  ["/debug/flags/v", "PUT"],
  [run, "POST"],
  [`/checkpoint/default/${pod}/app`, "POST"],
  [exec, "POST", spdy],
  [exec, "GET", webSocket],
  [exec],
  [attach, "POST", spdy],
  [attach, "GET", webSocket],
  [forward, "POST", spdy],
  [forward, "GET", { ...webSocket, "sec-websocket-protocol": "SPDY/3.1+portforward.k8s.io" }],
];

const unauthenticated: Case[] = endpoints.flatMap(([path, method = "GET", headers = {}]) => {
  const kind = headers.upgrade ? ` with ${headers.upgrade}` : "";
  const requests = { path, method, headers };
  return [
    {
      name: `${method} ${path}${kind} without credentials`,
      ...requests,
      status: 401,
      message: /^Unauthorized$/,
    },
    {
      name: `${method} ${path}${kind} without permission`,
      ...requests,
      token: "good-denied",
      status: 403,
      message: /^Forbidden \(user=denied/,
    },
  ];
});

const identities: Case[] = [
  { name: "a certificate of another CA", pair: () => testPair(otherCa, "admin"), status: 401 },
  {
    name: "a certificate of another CA with the same name",
    pair: () => testPair(testAuthority(), "admin"),
    status: 401,
  },
  { name: "an expired certificate", pair: signed({ from: -2 * day, to: -day }), status: 401 },
  { name: "a certificate that is not valid yet", pair: signed({ from: day / 2 }), status: 401 },
  { name: "a server certificate", pair: signed({ usages: ["server auth"] }), status: 401 },
  {
    name: "a certificate without a common name",
    pair: signed({ organizations: ["system:masters"] }, ""),
    status: 401,
  },
  { name: "a certificate whose signer is not a CA", pair: signedByLeaf, status: 401 },
  { name: "a certificate without its chain", pair: () => testPair(intermediate(), "admin"), status: 401 },
  { name: "a certificate without permissions", pair: signed({}, "eve"), status: 403 },
  {
    name: "a certificate of group system:masters without permissions",
    pair: signed({ organizations: ["system:masters"] }, "eve"),
    status: 403,
  },
  { name: "an unknown token", token: "unknown", status: 401 },
  { name: "a token that cannot be verified", token: "down", status: 401 },
  { name: "a token whose review is rate-limited", token: "limited", status: 401 },
  { name: "an empty token", token: "", status: 401 },
  { name: "a very long token", token: "x".repeat(200_000), status: 401 },
  { name: "basic authentication", headers: { authorization: "Basic YWRtaW46YWRtaW4=" }, status: 401 },
  { name: "two tokens in one header", token: "unknown good-admin", status: 401 },
  {
    name: "user names in headers of proxies",
    headers: { "x-remote-user": "admin", "x-remote-group": "system:masters", "impersonate-user": "admin" },
    status: 401,
  },
  {
    name: "an invalid token among the protocols of a WebSocket",
    path: exec,
    headers: {
      ...webSocket,
      "sec-websocket-protocol": "v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.bm9ib2R5",
    },
    status: 401,
  },
  {
    name: "a permission that is explicitly denied",
    token: "good-denied",
    status: 403,
    message: /^Forbidden \(user=denied, verb=get, resource=nodes, subresource\(s\)=\[pods proxy\]\)\n$/,
  },
  { name: "an unknown path without credentials", path: "/pods/x", status: 401 },
  { name: "an unsupported method without credentials", method: "DELETE", status: 401 },
  { name: "an unknown path without permission", path: "/pods/x", token: "good-denied", status: 403 },
  { name: "another method without permission", method: "DELETE", token: "good-denied", status: 403 },
  {
    name: "a permission that cannot be checked",
    token: "good-broken",
    status: 500,
    message: /^Authorization error \(user=broken, verb=get, resource=nodes, subresource=pods\)$/,
  },
];

/** One permission does not imply the others. */
const permissions: Case[] = [
  ...[
    ["/configz", "pods"],
    ["/pods", "configz"],
    ["/metrics", "stats"],
    ["/stats/summary", "metrics"],
    ["/logs/", "proxy"],
    ["/metrics", "proxy"],
    ["/stats/summary", "proxy"],
    ["/statusz", "proxy"],
    ["/flagz", "proxy"],
    [log, "log"],
    [log, "pods"],
    ["/debug/blocked", "pods"],
    ["/debug/pprof/heap", "metrics"],
    ["/healthz", "metrics"],
  ].map(([path = "", user]) => ({ name: `${path} for ${user}`, path, token: `good-${user}`, status: 403 })),
  {
    name: "exec with permission for pods only",
    path: exec,
    method: "POST",
    headers: spdy,
    token: "good-pods",
    status: 403,
    message: /verb=create.*\[proxy\]/,
  },
  {
    name: "checkpoint with permission for proxy only",
    path: `/checkpoint/default/${pod}/app`,
    method: "POST",
    token: "good-proxy",
    status: 403,
    message: /\[checkpoint\]/,
  },
];

const paths: Case[] = [
  { name: "nothing", path: "/", status: 404, message: /^404 page not found\n$/ },
  { name: "an unknown path", path: "/secrets", status: 404 },
  { name: "a path in upper case", path: "/PODS", status: 404 },
  {
    name: "a path with too few segments",
    path: `/exec/default/${pod}`,
    status: 404,
    message: /^404: Page Not Found$/,
  },
  { name: "a path with too many segments", path: "/exec/a/b/c/d/e", status: 404 },
  { name: "a path below an endpoint", path: "/pods/x", status: 404 },
  { name: "a property of JavaScript objects as path", path: "/__proto__/constructor", status: 404 },
  {
    name: "a property of JavaScript objects as pod name",
    path: "/containerLogs/__proto__/constructor/toString",
    status: 404,
  },
  { name: "an unknown profile", path: "/debug/pprof/toString", status: 404 },
  { name: "an unknown check", path: "/healthz/nope", status: 404 },
  { name: "a missing pod", path: "/containerLogs/default/nope/app", status: 404 },
  { name: "a missing container", path: `/containerLogs/default/${pod}/nope`, status: 404 },
  { name: "a pod in another namespace", path: `/containerLogs/kube-system/${pod}/app`, status: 404 },
  { name: "the log of a previous container that does not exist", path: `${log}?previous=true`, status: 400 },
  { name: "a log with tailLines that are not a number", path: `${log}?tailLines=many`, status: 400 },
  { name: "a log with negative tailLines", path: `${log}?tailLines=-1`, status: 422 },
  { name: "a log with an invalid sinceTime", path: `${log}?sinceTime=yesterday`, status: 400 },
  { name: "a file path as pod name", path: "/containerLogs/default/..%2f..%2fetc/passwd", status: 400 },
  { name: "a parameter after a semicolon", path: "/pods;a=b", status: 404 },
  { name: "a fragment", path: "/pods#x", status: 404 },
  ...[
    ...["/x/../pods", "//pods", "/pods//", "/./pods", "/logs/../pods", "/../../../../etc/passwd"],
    ...["//evil.example/..", `${logs}/../../../etc/passwd`, "/logs/....//....//etc/passwd"],
  ].map((path) => ({ name: `the non-canonical path ${path}`, path, status: 307 })),
  ...[
    ...[
      "/%2e%2e/pods",
      "/logs/%2E%2E/%2E%2E/etc/passwd",
      "/logs/.%2e/etc/passwd",
      "/logs/..%2f..%2fetc%2fpasswd",
    ],
    ...[
      "/x%2f..%2fpods",
      "/%2fpods",
      "/pods%00",
      "/logs/own.log%00.txt",
      "/pods%0d%0aset-cookie:x",
      "/%zz",
      "/%",
    ],
    ...["/%ff%fe", "/logs/%c0%ae%c0%ae/etc/passwd", "/logs/%e0%80%ae/etc/passwd", "/pods%7f", "/pods%1b[2J"],
  ].map((path) => ({ name: `the escaped path ${path}`, path, status: 400 })),
  ...[
    ...[
      "/logs/%252e%252e/etc/passwd",
      "/logs/..%5c..%5cetc%5cpasswd",
      "/logs/..\\..\\etc\\passwd",
      "/\\pods",
    ],
    ...[
      "/logs/%ef%bc%8e%ef%bc%8e/etc/passwd",
      "/logs/%e2%80%ae/x",
      `/logs/${"a".repeat(5000)}`,
      `${logs}/loop`,
    ],
    ...[`/logs/${"a/".repeat(20_000)}b`, `${logs}/inside/own.log/x`],
  ].map((path) => ({ name: `the path without a file ${path.slice(0, 60)}`, path, status: 404 })),
  ...["absolute", "relative", "root/etc/passwd", "root/", "root/proc/self/environ", "environment"].map(
    (name) => ({
      name: `the symlink ${name}`,
      path: `${logs}/${name}`,
      status: 403,
    }),
  ),
];

const methods: Case[] = [
  ...["DELETE", "PUT", "POST", "PATCH", "PROPFIND", "OPTIONS", "TRACE"].map((method) => ({
    name: method,
    method,
    status: 405,
    message: /^405: Method Not Allowed$/,
  })),
  { name: "POST to /containerLogs", path: log, method: "POST", status: 405 },
  { name: "GET of /run", path: run, status: 405 },
  { name: "GET of /checkpoint", path: `/checkpoint/default/${pod}/app`, status: 405 },
  { name: "GET of /debug/flags", path: "/debug/flags/v", status: 406 },
  {
    name: "another method in a header",
    path: "/debug/flags/v",
    headers: { "x-http-method-override": "PUT" },
    status: 406,
  },
  { name: "an invalid verbosity", path: "/debug/flags/v", method: "PUT", body: "loud", status: 400 },
  {
    name: "a verbosity of one megabyte",
    path: "/debug/flags/v",
    method: "PUT",
    body: "1".repeat(1e6),
    status: 413,
  },
];

const upgrades: Case[] = [
  { name: "exec without an upgrade", path: exec, status: 400, message: /^Upgrade request required/ },
  { name: "exec with an Upgrade header only", path: exec, headers: { upgrade: "SPDY/3.1" }, status: 400 },
  { name: "exec with a Connection header only", path: exec, headers: { connection: "Upgrade" }, status: 400 },
  { name: "portForward without an upgrade", path: forward, method: "POST", status: 400 },
  {
    name: "a WebSocket without a key",
    path: exec,
    headers: { ...webSocket, "sec-websocket-key": "" },
    status: 400,
  },
  {
    name: "a WebSocket with an invalid key",
    path: exec,
    headers: { ...webSocket, "sec-websocket-key": "x" },
    status: 400,
  },
  {
    name: "a WebSocket of an old version",
    path: exec,
    headers: { ...webSocket, "sec-websocket-version": "8" },
    status: 400,
  },
  { name: "a WebSocket by POST", path: exec, headers: webSocket, method: "POST", status: 405 },
  { name: "a WebSocket to a path without streams", path: "/pods/x", headers: webSocket, status: 404 },
  { name: "exec without streams", path: `/exec/default/${pod}/app?command=x`, headers: spdy, status: 400 },
  {
    name: "exec in a missing pod",
    path: "/exec/default/nope/app?output=1",
    headers: spdy,
    status: 404,
    message: /^pod does not exist$/,
  },
  { name: "run in a missing pod", path: "/run/default/nope/app?cmd=x", method: "POST", status: 404 },
  {
    name: "exec in a missing container",
    path: `/exec/default/${pod}/nope?output=1`,
    headers: spdy,
    status: 500,
    message: /^container not found \("nope"\)$/,
  },
  {
    name: "exec with the UID of a former pod",
    path: `/exec/default/${pod}/old/app?output=1`,
    headers: spdy,
    status: 500,
  },
  {
    name: "exec that the runtime rejects",
    path: exec.replace("=secret", "=reject"),
    headers: spdy,
    status: 403,
  },
  {
    name: "portForward with the UID of a former pod",
    path: `${forward}/old`,
    headers: spdy,
    status: 404,
    message: /^pod not found$/,
  },
  { name: "portForward to a missing pod", path: "/portForward/default/nope", headers: spdy, status: 404 },
  {
    name: "portForward over WebSocket to an invalid port",
    path: `${forward}?port=99999`,
    headers: { ...webSocket, "sec-websocket-protocol": "v4.channel.k8s.io" },
    status: 400,
  },
  {
    name: "portForward over WebSocket without ports",
    path: forward,
    headers: { ...webSocket, "sec-websocket-protocol": "v4.channel.k8s.io" },
    status: 400,
  },
];

const asAdmin = (cases: readonly Case[]) => cases.map((one) => ({ ...one, pair: admin }));
const tables: Readonly<Record<string, readonly Case[]>> = {
  "endpoints without credentials or permission": unauthenticated,
  authentication: identities,
  authorization: permissions,
  paths: asAdmin(paths),
  methods: asAdmin(methods),
  upgrades: asAdmin(upgrades),
};

for (const [title, cases] of Object.entries(tables))
  describe(title, () => {
    for (const one of cases)
      test(`${one.name.slice(0, 120)} gets ${one.status}`, async () => {
        const { path = "/pods", method = "GET", token, body, status, message } = one;
        const response = await raw(method, path, {
          headers: {
            ...(token !== undefined && { authorization: `Bearer ${token}` }),
            ...(body !== undefined && { "content-length": String(body.length) }),
            ...one.headers,
          },
          body,
          pair: one.pair?.(),
        });
        assert.equal(response.status, status, response.text.slice(0, 500));
        if (message) assert.match(response.body, message);
        assert.ok(!response.text.includes(secret), "the response contains the secret");
        assert.doesNotMatch(response.text, /root:.*:0:0:/);
        assert.match(response.text, /\r\nx-content-type-options: nosniff\r\n/i);
        if (status === 307) assert.match(response.text, /\r\nlocation: \/(\r|[^/])/i);
        await assertResponsive();
      });
  });

interface RawResponse {
  readonly status: number;
  readonly text: string;
  readonly body: string;
}

/** Sends the path unchanged: HTTP clients would normalize it. */
async function raw(
  method: string,
  path: string,
  o: { headers: Record<string, string>; body?: string | undefined; pair?: TestPair | undefined },
): Promise<RawResponse> {
  const given = { connection: "close", ...o.headers };
  const lines = Object.entries({ host: "x", ...given }).map(([name, value]) => `${name}: ${value}\r\n`);
  const text = await rawTls(node.port, `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${o.body ?? ""}`, {
    ...o.pair,
    until: isComplete,
  });
  return { text, status: Number(text.slice(9, 12)), body: text.slice(text.indexOf("\r\n\r\n") + 4) };
}

/** True when the whole response was received: the server may keep the connection open. */
function isComplete(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(text)?.[1];
  return end >= 0 && length !== undefined && text.length >= end + 4 + Number(length);
}

describe("the most specific permission is checked first", () => {
  const requests: [string, string, string[]][] = [
    ["/pods", "pods", ["get nodes/pods"]],
    ["/pods", "proxy", ["get nodes/pods", "get nodes/proxy"]],
    ["/configz", "configz", ["get nodes/configz"]],
    ["/healthz", "proxy", ["get nodes/healthz", "get nodes/proxy"]],
    ["/stats/summary", "stats", ["get nodes/stats"]],
    ["/metrics/cadvisor", "metrics", ["get nodes/metrics"]],
    ["/logs/", "log", ["get nodes/log"]],
    [log, "proxy", ["get nodes/proxy"]],
  ];
  for (const [path, user, permissions] of requests)
    test(`${path} for ${user} checks ${permissions.join(", then ")}`, async () => {
      // A unique name each time: reviews are cached.
      const own = testPair(node.ca, user, { organizations: [path] });
      node.reviews.length = 0;
      assert.equal((await send(node.port, path, { ...own })).status, 200);
      assert.deepEqual(
        node.reviews,
        permissions.map((permission) => `subjectaccessreviews ${user} ${permission} ${nodeName}`),
      );
    });
});

describe("accepted identities", () => {
  test("a certificate with its chain", async () => {
    const ca = intermediate();
    const pair = testPair(ca, "admin", { chain: ca.certificate });
    assert.equal((await send(node.port, "/pods", { ...pair })).status, 200);
  });

  test("a token with a certificate of another CA", async () => {
    const headers = { authorization: "Bearer good-admin" };
    assert.equal((await send(node.port, "/pods", { ...testPair(otherCa, "x"), headers })).status, 200);
  });
});

describe("other protocols", () => {
  test("a request to a proxy needs credentials as any other", async () => {
    const bytes = "GET http://evil.example/pods HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    assert.match(await rawTls(node.port, bytes), /^HTTP\/1\.1 401/);
    await assertResponsive();
  });

  test("a plain HTTP connection to the HTTPS port is closed", async () => {
    const text = await new Promise<string>((resolve) => {
      let received = "";
      const socket = connectPlain(node.port, "127.0.0.1", () => socket.write("GET /pods HTTP/1.1\r\n\r\n"));
      socket.on("data", (chunk) => {
        received += chunk.toString("latin1");
      });
      socket.on("error", () => {}).on("close", () => resolve(received));
    });
    assert.ok(!text.includes(secret));
    await assertResponsive();
  });

  for (const version of ["TLSv1", "TLSv1.1"] as const)
    test(`${version} is rejected`, async () => {
      const o = { minVersion: version, maxVersion: version, ciphers: "DEFAULT@SECLEVEL=0" };
      assert.equal(await rawTls(node.port, "GET /pods HTTP/1.1\r\n\r\n", { ...o, ...node.admin }), "");
      await assertResponsive();
    });

  const byHttp2: [string, IncomingHttpHeaders, boolean, number][] = [
    ["a request without credentials", {}, false, 401],
    ["an invalid token", { authorization: "Bearer unknown" }, false, 401],
    ["a request without permission", { authorization: "Bearer good-denied" }, false, 403],
    ["an unsupported method", { ":method": "DELETE" }, true, 405],
    ["a path with dot segments", { ":path": "/x/../pods" }, true, 307],
    ["a path with escaped dot segments", { ":path": "/logs/%2e%2e/x" }, true, 400],
    ["exec", { ":path": exec, ":method": "POST" }, true, 400],
    ["a WebSocket by CONNECT", { ":path": exec, ":method": "CONNECT", ":authority": "x" }, true, 405],
    ["an unknown Expect header", { expect: "wonders" }, true, 417],
  ];
  for (const [name, headers, isAdmin, status] of byHttp2)
    test(`${name} over HTTP/2 gets ${status}`, async () => {
      const session = connectHttp2(`https://127.0.0.1:${node.port}`, {
        rejectUnauthorized: false,
        ...(isAdmin && node.admin),
      });
      session.on("error", () => {});
      const { ":path": path = "/pods", ...rest } = headers;
      const isConnect = rest[":method"] === "CONNECT";
      const response = await new Promise<{ status: number; body: string }>((resolve, reject) => {
        const stream = session.request({ ...(!isConnect && { ":path": path }), ...rest });
        let [code, body] = [0, ""];
        stream.on("response", (got) => {
          code = Number(got[":status"]);
        });
        stream.on("data", (chunk) => {
          body += chunk;
        });
        stream.on("end", () => resolve({ status: code, body })).on("error", reject);
        stream.end();
      });
      session.destroy();
      assert.equal(response.status, status, response.body);
      assert.ok(!response.body.includes(secret));
      await assertResponsive();
    });
});
