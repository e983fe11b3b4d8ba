import assert from "node:assert/strict";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectPlain } from "node:net";
import { after, before, describe, test } from "node:test";
import { connect } from "node:tls";
import { systemClock } from "../../lib/base/clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { nodeAccess } from "./auth/node-access.ts";
import { fakeNodeRoutes, secret } from "./fake-node.ts";
import {
  fakeReviews,
  rawTls,
  reloadable,
  send,
  startServer,
  type TestPair,
  type TestServer,
  testAuthority,
  testPair,
} from "./fixtures.ts";

const ca = testAuthority();
const unknownCa = testAuthority("stranger");
const day = 86_400_000;
const admin = testPair(ca, "admin", { organizations: ["system:masters"] });
const intermediate = testAuthority("between", ca);
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

/** May do everything: admin. metrics: only nodes/metrics. broken: the review fails. */
const reviews = fakeReviews({
  token: (token) => {
    if (token === "down") return new Error("connection refused");
    return token.startsWith("good-")
      ? { authenticated: true, user: { username: token.slice(5), groups: ["g"], uid: "u" } }
      : { authenticated: false };
  },
  access: ({ user, resourceAttributes: { subresource } }) => {
    if (user === "broken") return new Error("no API");
    return { allowed: user === "admin" || subresource === user };
  },
});

let server: TestServer;

before(async () => {
  server = await startServer({
    routes: fakeNodeRoutes({ url: () => "http://127.0.0.1:1/" }),
    access: nodeAccess({
      nodeName: "node-1",
      authentication: { anonymous: false, webhook: true, cacheTtlMs: 120_000 },
      authorization: { mode: "Webhook", allowedTtlMs: 300_000, deniedTtlMs: 30_000 },
      clientCa: () => ca.certificate,
      transport: reviews.transport,
      clock: systemClock,
      logger: silentLogger,
    }),
    certificate: reloadable(testPair(ca, "node")),
    clientCa: reloadable(ca.certificate),
    limits: { headersMs: 500, requestMs: 900 },
  });
});

after(() => server.stop());

/** A valid request is served, and does not wait for others. */
async function assertNextRequestIsServed(): Promise<void> {
  const began = performance.now();
  const response = await send(server.port, "/pods", { ...admin });
  assert.equal(response.status, 200);
  assert.match(response.body, new RegExp(secret));
  assert.ok(performance.now() - began < 10_000);
}

interface Case {
  readonly name: string;
  readonly path?: string;
  readonly method?: string;
  readonly pair?: TestPair;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly status: number;
  readonly message?: RegExp;
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
const app = "/exec/default/web/app?output=1&command=x";

const cases: Case[] = [
  // Authentication
  { name: "no credentials", status: 401, message: /^Unauthorized$/ },
  { name: "no credentials, configz", path: "/configz", status: 401 },
  { name: "no credentials, an unknown path", path: "/pods/nope", status: 401 },
  { name: "no credentials, an unknown method", method: "DELETE", status: 401 },
  { name: "no credentials, health", path: "/healthz", status: 401 },
  { name: "no credentials, exec", path: app, headers: upgradeTo("SPDY/3.1"), method: "POST", status: 401 },
  { name: "no credentials, exec over WebSocket", path: app, headers: webSocket, status: 401 },
  { name: "no credentials, blocked pods", path: "/debug/blocked", status: 401 },
  { name: "no credentials, checkpoint", path: "/checkpoint/default/web/app", method: "POST", status: 401 },
  { name: "a certificate of another authority", pair: testPair(unknownCa, "admin"), status: 401 },
  { name: "an expired certificate", pair: testPair(ca, "admin", { from: -2 * day, to: -day }), status: 401 },
  {
    name: "a certificate that is not valid yet",
    pair: testPair(ca, "admin", { from: day / 2 }),
    status: 401,
  },
  {
    name: "a certificate for servers",
    pair: testPair(ca, "admin", { usages: ["server auth"] }),
    status: 401,
  },
  { name: "a certificate without a name", pair: testPair(ca, "", { organizations: ["x"] }), status: 401 },
  { name: "a certificate whose signer is not a CA", pair: signedByLeaf(), status: 401 },
  {
    name: "a certificate without its chain",
    pair: testPair(intermediate, "admin"),
    status: 401,
  },
  { name: "an unknown token", ...bearer("unknown"), status: 401 },
  { name: "an empty token", ...bearer(""), status: 401 },
  { name: "a token that cannot be verified", ...bearer("down"), status: 401 },
  { name: "a very long token", ...bearer("x".repeat(100_000)), status: 401 },
  { name: "another kind of credentials", headers: { authorization: "Basic YTpi" }, status: 401 },
  { name: "two tokens in one header", headers: { authorization: "Bearer unknown good-admin" }, status: 401 },
  {
    name: "a user in a header",
    headers: { "x-remote-user": "admin", "impersonate-user": "admin" },
    status: 401,
  },
  // Authorization
  {
    name: "no permission",
    ...bearer("good-denied"),
    status: 403,
    message: /^Forbidden \(user=denied, verb=get, resource=nodes, subresource\(s\)=\[pods proxy\]\)\n$/,
  },
  { name: "permission for another resource", ...bearer("good-metrics"), status: 403 },
  {
    name: "permission to get does not permit exec",
    path: app,
    method: "POST",
    ...bearer("good-pods"),
    status: 403,
    message: /verb=create.*\[proxy\]/,
  },
  {
    name: "permission to get pods does not permit configz",
    path: "/configz",
    ...bearer("good-pods"),
    status: 403,
  },
  {
    name: "proxy does not permit checkpoints",
    path: "/checkpoint/default/web/app",
    method: "POST",
    ...bearer("good-proxy"),
    status: 403,
    message: /\[checkpoint\]/,
  },
  {
    name: "proxy does not permit statusz",
    path: "/statusz",
    ...bearer("good-proxy"),
    status: 403,
    message: /\[statusz\]/,
  },
  {
    name: "authorization fails",
    ...bearer("good-broken"),
    status: 500,
    message: /^Authorization error \(user=broken, verb=get, resource=nodes, subresource=pods\)$/,
  },
  { name: "no permission, an unknown path", path: "/pods/nope", ...bearer("good-denied"), status: 403 },
  { name: "no permission, another method", method: "HEAD", ...bearer("good-denied"), status: 403 },
  // Targets
  { name: "nothing", path: "/", pair: admin, status: 404, message: /^404 page not found\n$/ },
  { name: "an unknown path", path: "/secrets", pair: admin, status: 404 },
  { name: "another case", path: "/PODS", pair: admin, status: 404 },
  {
    name: "too short a path",
    path: "/exec/default/web",
    pair: admin,
    status: 404,
    message: /^404: Page Not Found$/,
  },
  { name: "too long a path", path: "/exec/a/b/c/d/e", pair: admin, status: 404 },
  {
    name: "another method",
    path: "/pods",
    method: "DELETE",
    pair: admin,
    status: 405,
    message: /^405: Method Not Allowed$/,
  },
  { name: "an unsupported method", path: "/pods", method: "PROPFIND", pair: admin, status: 405 },
  { name: "dots", path: "/x/../pods", status: 307 },
  { name: "many dots", path: "/../../../../etc/passwd", status: 307 },
  { name: "double slashes", path: "//pods", status: 307 },
  { name: "double slashes to another host", path: "//evil.example/..", status: 307 },
  { name: "encoded dots", path: "/%2e%2e/pods", pair: admin, status: 400 },
  { name: "encoded dots in upper case", path: "/logs/%2E%2E/%2E%2E/etc/passwd", pair: admin, status: 400 },
  { name: "encoded slashes", path: "/x%2f..%2fpods", pair: admin, status: 400 },
  { name: "NUL", path: "/pods%00", pair: admin, status: 400 },
  { name: "a line break", path: "/pods%0d%0aSet-Cookie:x", pair: admin, status: 400 },
  { name: "a bad escape", path: "/%zz", pair: admin, status: 400 },
  { name: "bytes that are not text", path: "/%ff%fe", pair: admin, status: 400 },
  { name: "a very long path", path: `/${"a/".repeat(50_000)}`, pair: admin, status: 404 },
  { name: "a name of a JavaScript prototype", path: "/__proto__/constructor", pair: admin, status: 404 },
  // Streams
  {
    name: "exec without an upgrade",
    path: app,
    pair: admin,
    status: 400,
    message: /^Upgrade request required/,
  },
  {
    name: "exec of an unknown pod",
    path: "/exec/default/nope/app?output=1",
    pair: admin,
    headers: upgradeTo("SPDY/3.1"),
    status: 404,
    message: /^pod does not exist$/,
  },
  {
    name: "exec of an unknown container",
    path: "/exec/default/web/nope?output=1",
    pair: admin,
    headers: upgradeTo("SPDY/3.1"),
    status: 500,
    message: /^container not found \("nope"\)$/,
  },
  {
    name: "exec in a container that has exited",
    path: "/exec/default/web/done?output=1",
    pair: admin,
    headers: upgradeTo("SPDY/3.1"),
    status: 500,
  },
  {
    name: "attach to a container that has exited",
    path: "/attach/default/web/done?output=1",
    pair: admin,
    headers: upgradeTo("SPDY/3.1"),
    status: 500,
    message: /^container done not found in pod web_default$/,
  },
  {
    name: "exec of an older pod of the same name",
    path: "/exec/default/web/other-uid/app?output=1",
    pair: admin,
    headers: upgradeTo("SPDY/3.1"),
    status: 500,
  },
  {
    name: "exec without streams",
    path: "/exec/default/web/app?command=x",
    pair: admin,
    headers: upgradeTo("SPDY/3.1"),
    status: 400,
    message: /at least 1 of stdin, stdout, stderr/,
  },
  {
    name: "exec that the runtime rejects",
    path: "/exec/default/web/app?output=1&command=rejected",
    pair: admin,
    headers: upgradeTo("SPDY/3.1"),
    status: 404,
  },
  {
    name: "exec of a runtime that is busy",
    path: "/exec/default/web/app?output=1&command=busy",
    pair: admin,
    headers: upgradeTo("SPDY/3.1"),
    status: 429,
  },
  {
    name: "exec without a runtime behind it",
    path: app,
    pair: admin,
    headers: upgradeTo("SPDY/3.1"),
    method: "POST",
    status: 500,
    message: /error dialing/,
  },
  {
    name: "a WebSocket without a runtime behind it",
    path: app,
    pair: admin,
    headers: webSocket,
    status: 500,
  },
  {
    name: "a WebSocket without a key",
    path: app,
    pair: admin,
    headers: { ...webSocket, "sec-websocket-key": "x" },
    status: 400,
  },
  {
    name: "an old version of WebSocket",
    path: app,
    pair: admin,
    headers: { ...webSocket, "sec-websocket-version": "8" },
    status: 400,
  },
  { name: "a WebSocket by POST", path: app, pair: admin, headers: webSocket, method: "POST", status: 405 },
  {
    name: "a WebSocket to a route without upgrade",
    path: "/pods/x",
    pair: admin,
    headers: webSocket,
    status: 404,
  },
  {
    name: "portForward of an unknown pod",
    path: "/portForward/default/nope",
    pair: admin,
    headers: upgradeTo("SPDY/3.1"),
    status: 404,
  },
  {
    name: "portForward of an older pod of the same name",
    path: "/portForward/default/web/x",
    pair: admin,
    headers: upgradeTo("SPDY/3.1"),
    status: 404,
    message: /^pod not found$/,
  },
  {
    name: "portForward over WebSocket without ports",
    path: "/portForward/default/web",
    pair: admin,
    headers: { ...webSocket, "sec-websocket-protocol": "v4.channel.k8s.io" },
    status: 400,
  },
  {
    name: "portForward to an invalid port",
    path: "/portForward/default/web?port=99999",
    pair: admin,
    headers: { ...webSocket, "sec-websocket-protocol": "v4.channel.k8s.io" },
    status: 400,
  },
  {
    name: "run in an unknown pod",
    path: "/run/default/nope/app?cmd=x",
    method: "POST",
    pair: admin,
    status: 404,
  },
  {
    name: "run of a command that fails",
    path: "/run/default/web/app?cmd=false",
    method: "POST",
    pair: admin,
    status: 500,
    message: /exited with 1/,
  },
  // Others
  { name: "flags by GET", path: "/debug/flags/v", pair: admin, status: 406 },
  {
    name: "an invalid verbosity",
    path: "/debug/flags/v",
    method: "PUT",
    body: "loud",
    pair: admin,
    status: 400,
  },
  {
    name: "a verbosity of a megabyte",
    path: "/debug/flags/v",
    method: "PUT",
    body: "1".repeat(1e6),
    pair: admin,
    status: 413,
  },
  { name: "an unknown profile", path: "/debug/pprof/toString", pair: admin, status: 404 },
  { name: "an unknown check", path: "/healthz/nope", pair: admin, status: 404 },
  {
    name: "a checkpoint of an unknown pod",
    path: "/checkpoint/a/b/c",
    method: "POST",
    pair: admin,
    status: 404,
  },
  {
    name: "a checkpoint of an unknown container",
    path: "/checkpoint/default/web/c",
    method: "POST",
    pair: admin,
    status: 404,
  },
  {
    name: "a checkpoint whose timeout is not a number",
    path: "/checkpoint/default/web/app?timeout=x",
    method: "POST",
    pair: admin,
    status: 404,
  },
  {
    name: "a checkpoint that fails",
    path: "/checkpoint/default/web/app?timeout=13",
    method: "POST",
    pair: admin,
    status: 500,
    message:
      /^checkpointing of default\/web\/app failed \(rpc error: code = Unknown desc = simulated failure\)$/,
  },
];

function signedByLeaf(): TestPair {
  const leaf = testPair(ca, "leaf");
  const issuer = { certificate: leaf.cert, key: testAuthority().key };
  try {
    return testPair(issuer, "admin", { chain: leaf.cert });
  } catch {
    // Our own signer rejects it: use another CA of that name.
    return testPair(testAuthority("leaf"), "admin", { chain: leaf.cert });
  }
}

describe("rejected requests", () => {
  for (const { name, path = "/pods", method = "GET", pair, headers = {}, body, status, message } of cases)
    test(`${name}: ${status}`, async () => {
      const response = await send(server.port, path, {
        method,
        headers: { ...headers, ...(body && { "content-length": body.length }) },
        ...(body && { body }),
        ...pair,
      });
      assert.equal(response.status, status, response.body);
      if (message) assert.match(response.body, message);
      assert.doesNotMatch(response.body, new RegExp(secret));
      if (status === 307) assert.match(String(response.headers.location), /^\/($|[^/])/);
      assert.equal(response.headers["x-content-type-options"], "nosniff");
      await assertNextRequestIsServed();
    });
});

describe("malformed requests", () => {
  const bytes: [string, string, RegExp][] = [
    ["noise", "\x00\x01\x02\r\n\r\n", /^HTTP\/1\.1 400/],
    ["no host", "GET /pods HTTP/1.1\r\n\r\n", /^HTTP\/1\.1 400/],
    ["a header without a name", "GET /pods HTTP/1.1\r\nhost: x\r\n: y\r\n\r\n", /^HTTP\/1\.1 400/],
    ["NUL in the path", "GET /po\x00ds HTTP/1.1\r\nhost: x\r\n\r\n", /^HTTP\/1\.1 400/],
    [
      "two lengths",
      "PUT /debug/flags/v HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
      /^HTTP\/1\.1 400/,
    ],
    [
      "a length and chunks",
      "PUT /debug/flags/v HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
      /^HTTP\/1\.1 400/,
    ],
    [
      "a very large header",
      `GET /pods HTTP/1.1\r\nhost: x\r\na: ${"x".repeat(1_200_000)}\r\n\r\n`,
      /^HTTP\/1\.1 431/,
    ],
    [
      "many large headers",
      `GET /pods HTTP/1.1\r\nhost: x\r\n${`a: ${"x".repeat(1000)}\r\n`.repeat(1200)}\r\n`,
      /^HTTP\/1\.1 431/,
    ],
    [
      "an unknown Expect header",
      "GET /pods HTTP/1.1\r\nhost: x\r\nexpect: wonders\r\n\r\n",
      /^HTTP\/1\.1 417/,
    ],
    ["an asterisk", "OPTIONS * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", /^HTTP\/1\.1 400/],
    [
      "a request to a proxy",
      "GET http://evil.example/pods HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
      /^HTTP\/1\.1 401/,
    ],
  ];
  for (const [name, send, expected] of bytes)
    test(name, async () => {
      const until = (text: string) => text.includes("\r\n\r\n");
      assert.match(await rawTls(server.port, send, { until }), expected);
      await assertNextRequestIsServed();
    });

  test("CONNECT is rejected", async () => {
    await rawTls(server.port, "CONNECT evil.example:443 HTTP/1.1\r\nhost: x\r\n\r\n");
    await assertNextRequestIsServed();
  });

  test("plain HTTP on the HTTPS port", async () => {
    await new Promise((resolve) => {
      const socket = connectPlain(server.port, "127.0.0.1", () => socket.write("GET /pods HTTP/1.1\r\n\r\n"));
      socket.on("error", () => {}).on("close", resolve);
    });
    await assertNextRequestIsServed();
  });

  test("TLS 1.1 is rejected", async () => {
    const o = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const;
    assert.equal(await rawTls(server.port, "GET /pods HTTP/1.1\r\n\r\n", o), "");
    await assertNextRequestIsServed();
  });
});

describe("slow clients", () => {
  test("the connection of endless headers is closed", async () => {
    assert.match(await rawTls(server.port, "GET /pods HTTP/1.1\r\nhost: x\r\n"), /^HTTP\/1\.1 408/);
    await assertNextRequestIsServed();
  });

  test("the connection of a missing body is closed", async () => {
    const head =
      "PUT /debug/flags/v HTTP/1.1\r\nhost: x\r\nauthorization: Bearer good-admin\r\ncontent-length: 9\r\n\r\n";
    await rawTls(server.port, `${head}1`);
    await assertNextRequestIsServed();
  });

  test("the server does not wait for an unread body, and the error response arrives", async () => {
    const head = "PUT /pods HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n";
    assert.match(await rawTls(server.port, `${head}1`), /^HTTP\/1\.1 401/);
    await assertNextRequestIsServed();
  });

  test("a connection without a request is closed", async () => {
    await new Promise((resolve) =>
      connectPlain(server.port, "127.0.0.1")
        .on("error", () => {})
        .on("close", resolve),
    );
    await assertNextRequestIsServed();
  });
});

describe("authorized clients", () => {
  test("a certificate with its chain", async () => {
    const pair = testPair(intermediate, "admin", { chain: intermediate.certificate });
    assert.equal((await send(server.port, "/pods", { ...pair })).status, 200);
  });

  test("a token works with an invalid certificate", async () => {
    const response = await send(server.port, "/pods", {
      ...testPair(unknownCa, "x"),
      ...bearer("good-admin"),
    });
    assert.equal(response.status, 200);
  });

  test("the most specific permission is sufficient, and checked first", async () => {
    reviews.requests.length = 0;
    assert.equal((await send(server.port, "/pods", bearer("good-pods"))).status, 200);
    assert.deepEqual(reviews.requests.at(-1)?.spec, {
      resourceAttributes: {
        verb: "get",
        version: "v1",
        resource: "nodes",
        subresource: "pods",
        name: "node-1",
      },
      user: "pods",
      groups: ["g", "system:authenticated"],
      uid: "u",
      extra: undefined,
    });
  });

  test("reviews are cached for the same client", async () => {
    const before = reviews.requests.length;
    await Promise.all(
      Array.from({ length: 20 }, () => send(server.port, "/healthz", bearer("good-healthz"))),
    );
    assert.equal(reviews.requests.length - before, 2);
  });

  test("HTTP/2: many requests on one connection", async () => {
    const session = connectHttp2(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false, ...admin });
    const get = (path: string) =>
      new Promise<number>((resolve, reject) => {
        const stream = session.request({ ":path": path });
        stream.on("response", (headers) => resolve(Number(headers[":status"])));
        stream.on("error", reject).resume();
      });
    const statuses = await Promise.all(["/pods", "/configz", "/nope", "/x/../pods", "/exec/a/b/c"].map(get));
    assert.deepEqual(statuses, [200, 200, 404, 307, 400]);
    session.close();
  });
});

test("many idle connections keep no client out", async () => {
  const small = await startServer({
    routes: fakeNodeRoutes({ url: () => "" }),
    access: { authorize: async () => ({ name: "x", groups: [] }) },
    limits: { connections: 50 },
  });
  const sockets = Array.from({ length: 300 }, (_, i) =>
    i % 3 === 0
      ? connectPlain(small.port, "127.0.0.1").on("error", () => {})
      : connect({ host: "127.0.0.1", port: small.port, rejectUnauthorized: false }).on("error", () => {}),
  );
  for (let i = 0; i < 5; i++) assert.equal((await send(small.port, "/pods")).status, 200);
  assert.ok(small.server.connections <= 50);
  for (const socket of sockets) socket.destroy();
  await small.stop();
});
