import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { ConsoleChanges } from "../../src/console/console-node.ts";
import { FakeConsoleNode, fakeConsolePod, fakeExplanation } from "../../src/console/fake-console-node.ts";
import type { ConsoleError, Login } from "../../src/console/protocol.ts";
import { runKey } from "../../src/console/sessions/persisted-sessions.ts";
import { whenAborted } from "../../src/lib/base/abort.ts";
import { abortError } from "../../src/lib/base/errors.ts";
import { fakePod } from "../../src/lib/model/fake-pod.ts";
import type { PodUid } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { consoleServer, tokenOf } from "./console-server.ts";

const uid = "11111111-2222-3333-4444-555555555555";
const reads = [
  "/console/api/session",
  "/console/api/stream",
  `/console/api/pods/${uid}`,
  `/console/api/pods/${uid}/yaml`,
  `/console/api/pods/${uid}/usage`,
  `/console/api/pods/${uid}/logs/c0`,
  "/console/api/images",
];
const writes = [
  "/console/api/apply",
  `/console/api/pods/${uid}/delete`,
  `/console/api/pods/${uid}/containers/c0/restart`,
  "/console/api/logout",
];
const exec = `/console/api/pods/${uid}/exec/c0?command=sh&stdout=true`;
const webSocket = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
};

/** Records the changes that reach the node. */
function changeable(): { node: FakeConsoleNode; made: string[] } {
  const made: string[] = [];
  const put = { kind: "created", pods: [], warnings: [] } as const;
  const changes: ConsoleChanges = {
    manifests: {
      list: () => [{ name: "web", pods: [fakePod()] }],
      check: async () => put,
      put: async (name) => {
        made.push(`put ${name}`);
        return put;
      },
      remove: async (name) => made.push(`remove ${name}`) > 0,
    },
    deleteApiPod: undefined,
    stopContainer: async (_, name) => made.push(`stop ${name}`) > 0,
  };
  const node = new FakeConsoleNode().add(fakeConsolePod());
  node.changes = changes;
  return { node, made };
}

const codeOf = (body: string) => (JSON.parse(body) as { error: { code: string } }).error.code;

test("without the key of a session no data is served and nothing is changed, whatever else a browser sends", async (t) => {
  const { node, made } = changeable();
  const { send, logIn, origin, port, console } = await consoleServer(t, node);
  const headers = await logIn();
  const key = headers["x-console-key"];
  const ended = await logIn();
  await send("POST", "/console/api/logout", { headers: ended, body: "{}" });
  const protocols = (value: string) => ({
    "sec-websocket-protocol": `v5.channel.k8s.io, kubelet-console-key.${value}`,
  });
  const both = (value: string) => ({ "x-console-key": value, ...protocols(value) });
  const cookies = [`kubelet-console-${port}=${key}`, `x-console-key=${key}`, `kubelet-console-key=${key}`];
  const insufficient: Record<string, string>[] = [
    {},
    // A browser also sends cookies, client certificates and passwords to other ports, and for other pages.
    ...cookies.map((cookie) => ({ cookie })),
    { cookie: cookies.join("; "), authorization: `Bearer ${key}` },
    both(""),
    both("x"),
    both(`${key}x`),
    both(key.slice(1)),
    { "x-console-key": `${key}, ${key}` },
    both(ended["x-console-key"]),
    both(tokenOf(console.link())),
    both("constructor"),
  ];
  const rejects = async (status: number, method: string, path: string, sent: Record<string, string>) => {
    const reply = await send(method, path, { headers: sent, ...(method === "POST" && { body: "{}" }) });
    assert.equal(reply.status, status, `${method} ${path} ${JSON.stringify(sent)}`);
    assert.equal(codeOf(reply.body), "unauthenticated");
    assert.ok(!reply.body.includes(key));
    assert.equal(reply.headers["set-cookie"], undefined);
  };
  for (const each of insufficient) {
    const sent = { origin, "content-type": "application/json", ...each };
    for (const path of reads) {
      await rejects(401, "GET", path, sent);
      await rejects(401, "GET", `${path}?key=${key}&x-console-key=${key}`, sent);
    }
    for (const path of [...writes, "/console/api/login"]) await rejects(401, "POST", path, sent);
    await rejects(401, "GET", exec, { ...sent, ...webSocket });
  }
  // A page cannot set headers of a WebSocket, and a request has no subprotocols: each key has one place.
  await rejects(401, "GET", exec, { origin, "x-console-key": key, ...webSocket });
  for (const path of reads) await rejects(401, "GET", path, { origin, ...protocols(key) });
  assert.deepEqual([made, node.requests, node.counts.pod], [[], [], 0]);
  assert.equal((await send("GET", "/console/api/images", { headers })).status, 200);
});

test("a link logs in once; its token is not part of a request's path, and no response sets a cookie", async (t) => {
  const { send, console, origin } = await consoleServer(t);
  const link = console.link();
  assert.match(link, /^\/console\/#login=[\w-]{43}$/);
  const token = tokenOf(link);
  const page = await send("GET", "/console/");
  assert.deepEqual([page.status, page.headers["set-cookie"]], [200, undefined]);
  const headers = { origin, "content-type": "application/json" };
  const exchange = (body: unknown, sent: Record<string, string> = headers) =>
    send("POST", "/console/api/login", { headers: sent, body: JSON.stringify(body) });
  // Neither a page that is loaded in advance nor another path, method, form or site uses it up.
  for (const path of [`/console/?login=${token}`, `/console/login?token=${token}`, "/console/"])
    assert.equal((await send("GET", path)).headers["set-cookie"], undefined);
  for (const method of ["GET", "HEAD"])
    assert.equal((await send(method, "/console/api/login", { headers })).status, 405);
  for (const [status, sent] of [
    [403, { ...headers, origin: "http://evil.example" }],
    [403, { "content-type": "application/json" }],
    [415, { ...headers, "content-type": "text/plain" }],
  ] as const)
    assert.equal((await exchange({ token }, sent)).status, status);
  const { status, body, headers: replied } = await exchange({ token });
  assert.deepEqual([status, replied["set-cookie"], replied["cache-control"]], [200, undefined, "no-store"]);
  const { key, resumeKey, session } = JSON.parse(body) as Login;
  assert.match(key, /^[\w-]{43}$/);
  assert.deepEqual([resumeKey, session.user], [null, "root (link)"]);
  for (const wrong of [token, "", "x", `${token}x`, 1, null, {}, undefined]) {
    const again = await exchange({ token: wrong });
    assert.deepEqual([again.status, codeOf(again.body)], [401, "unauthenticated"], String(wrong));
  }
});

test("a host name that is not the node's is rejected (DNS rebinding)", async (t) => {
  const { send, logIn, port } = await consoleServer(t);
  const headers = await logIn();
  for (const host of [
    "evil.example",
    `evil.example:${port}`,
    "127.0.0.1",
    `127.0.0.1.evil.example:${port}`,
    `127.0.0.1:${port + 1}`,
    // Another process may listen on this port of ::1.
    `localhost:${port}`,
    `[::1]:${port}`,
  ])
    for (const path of ["/console/", "/console/assets/main-1a2b3c4d.js", ...reads]) {
      const { status, body } = await send("GET", path, { headers: { ...headers, host } });
      assert.equal(status, 403, `${host} ${path}`);
      assert.equal(codeOf(body), "cross-site");
    }
  assert.equal((await send("GET", "/console/api/images", { headers })).status, 200);
});

test("requests of other sites are rejected, even with the key", async (t) => {
  const { node, made } = changeable();
  const { send, logIn, port } = await consoleServer(t, node);
  const headers = await logIn();
  const { origin: _, ...withoutOrigin } = headers;
  const foreign = [
    { ...headers, origin: "https://evil.example" },
    { ...headers, origin: "null" },
    { ...headers, origin: `http://127.0.0.1:${port + 1}` },
    { ...headers, origin: `https://127.0.0.1:${port}` },
    // Another name of the node, which this request does not use: another process may listen there, on ::1.
    { ...headers, origin: `http://localhost:${port}` },
    { ...headers, "sec-fetch-site": "cross-site" },
    { ...headers, "sec-fetch-site": "same-site" },
  ];
  for (const each of foreign) {
    for (const path of reads)
      assert.equal(codeOf((await send("GET", path, { headers: each })).body), "cross-site");
    for (const path of writes) {
      const { status } = await send("POST", path, { headers: each, body: "{}" });
      assert.equal(status, 403, `${path} ${JSON.stringify(each)}`);
    }
    assert.equal((await send("GET", exec, { headers: { ...each, ...webSocket } })).status, 403);
  }
  // A change or a WebSocket without an origin does not come from a page at all.
  for (const path of writes)
    assert.equal((await send("POST", path, { headers: withoutOrigin, body: "{}" })).status, 403);
  assert.equal((await send("GET", exec, { headers: { ...withoutOrigin, ...webSocket } })).status, 403);
  assert.deepEqual([made, node.requests], [[], []]);
});

test("a change needs JSON: a form has another type", async (t) => {
  const { node, made } = changeable();
  const { send, logIn } = await consoleServer(t, node);
  const headers = await logIn();
  for (const path of writes.filter((p) => !p.endsWith("logout"))) {
    for (const type of [
      "application/x-www-form-urlencoded",
      "text/plain",
      "multipart/form-data; boundary=x",
    ]) {
      const { status } = await send("POST", path, {
        headers: { ...headers, "content-type": type },
        body: "{}",
      });
      assert.equal(status, 415, `${path} ${type}`);
    }
    for (const body of ["[]", "1", "{", "null"])
      assert.equal((await send("POST", path, { headers, body })).status, 400, `${path} ${body}`);
  }
  assert.deepEqual(made, []);
  assert.equal((await send("POST", `/console/api/pods/${uid}/delete`, { headers, body: "{}" })).status, 200);
  const restart = `/console/api/pods/${uid}/containers/c0/restart`;
  assert.equal((await send("POST", restart, { headers, body: "{}" })).status, 200);
  assert.deepEqual(made, ["remove web", "stop c0"]);
});

test("a terminal is opened without the key in its request", async (t) => {
  const node = new FakeConsoleNode().add(fakeConsolePod());
  let offered: unknown;
  const { exec: opened } = node.streams;
  Object.assign(node.streams, {
    exec: async (...[exchange, ...rest]: Parameters<typeof opened>) => {
      offered = exchange.request.headers["sec-websocket-protocol"];
      return opened(exchange, ...rest);
    },
  });
  const { send, logIn } = await consoleServer(t, node);
  assert.equal((await send("GET", exec, { headers: { ...(await logIn()), ...webSocket } })).status, 101);
  assert.equal(offered, "v5.channel.k8s.io");
});

test("a session ends with its logout", async (t) => {
  const { send, logIn } = await consoleServer(t);
  const headers = await logIn();
  assert.equal((await send("POST", "/console/api/logout", { headers, body: "{}" })).status, 204);
  assert.equal((await send("GET", "/console/api/session", { headers })).status, 401);
});

test("logs that are followed and terminals end with the session", async (t) => {
  const node = new FakeConsoleNode().add(fakeConsolePod());
  let open = 0;
  const untilOver = async ({ signal }: { readonly signal: AbortSignal }) => {
    open++;
    await new Promise<void>((resolve) => whenAborted(signal, resolve));
    throw abortError(signal.reason);
  };
  Object.assign(node.streams, { logs: untilOver, exec: untilOver });
  const { send, logIn } = await consoleServer(t, node);
  const headers = await logIn();
  const ended = [
    send("GET", `/console/api/pods/${uid}/logs/c0?follow=true`, { headers }),
    send("GET", exec, { headers: { ...headers, ...webSocket } }),
  ].map((request) => request.catch(() => undefined));
  await waitFor(() => assert.equal(open, 2));
  await send("POST", "/console/api/logout", { headers, body: "{}" });
  await Promise.all(ended);
});

test("a session continues after a restart with a key that only its resume key derives", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "console-sessions-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const more = { sessionsFile: join(dir, "sessions.json") };
  const json = { "content-type": "application/json" };
  const before = await consoleServer(t, undefined, more);
  const login = async () => {
    const { body } = await before.send("POST", "/console/api/login", {
      headers: { ...json, origin: before.origin },
      body: JSON.stringify({ token: tokenOf(before.console.link()) }),
    });
    const { key, resumeKey } = JSON.parse(body) as Login;
    return { key, resumeKey: resumeKey ?? "" };
  };
  const [session, other] = [await login(), await login()];
  const challengeOf = async ({ send }: typeof before) => {
    const { body } = await send("GET", "/console/api/session");
    return (JSON.parse(body) as ConsoleError).error.login?.challenge ?? "";
  };
  const old = await challengeOf(before);
  assert.equal(runKey(session.resumeKey, old, before.origin), session.key);
  before.console.stop();
  const now = await consoleServer(t, undefined, more);
  const { send, origin, headersOf } = now;
  const challenge = await challengeOf(now);
  assert.notEqual(challenge, old);
  // What another process received or read at the port in the meantime: the key of the run before, and nothing derived for this one.
  const worthless = [
    session.key,
    session.resumeKey,
    challenge,
    runKey(session.key, challenge, origin),
    runKey(session.resumeKey, old, origin),
    // Relayed by a server on another port.
    runKey(session.resumeKey, challenge, "http://127.0.0.1:1"),
    runKey(session.resumeKey, "chosen", origin),
  ];
  for (const key of worthless) {
    const headers = headersOf(key);
    for (const path of reads) assert.equal((await send("GET", path, { headers })).status, 401, path);
    for (const path of writes)
      assert.equal((await send("POST", path, { headers, body: "{}" })).status, 401, path);
    assert.equal((await send("GET", exec, { headers: { ...headers, ...webSocket } })).status, 401);
  }
  const headers = headersOf(runKey(session.resumeKey, challenge, origin));
  assert.equal((await send("GET", "/console/api/session", { headers })).status, 200);
  assert.equal((await send("POST", "/console/api/logout", { headers, body: "{}" })).status, 204);
  now.console.stop();
  const last = await consoleServer(t, undefined, more);
  const again = async (resumeKey: string) => {
    const own = last.headersOf(runKey(resumeKey, await challengeOf(last), last.origin));
    return (await last.send("GET", "/console/api/session", { headers: own })).status;
  };
  assert.deepEqual([await again(session.resumeKey), await again(other.resumeKey)], [401, 200]);
});

test("scripts in names, labels, events and logs are data", async (t) => {
  const script = "<script>alert(1)</script>";
  const pod = fakePod({ metadata: { name: script, labels: { [script]: script } } });
  const node = new FakeConsoleNode().add(
    fakeConsolePod({ metadata: pod.metadata }, { explanation: fakeExplanation(pod, { cause: script }) }),
  );
  node.logText = `${script}\n`;
  const { send, logIn, console, open } = await consoleServer(t, node);
  console.event({
    pod: pod.metadata,
    type: "Normal",
    reason: script,
    message: `${script}\n\nevent: bye\ndata: {}\n\n`,
  });
  const headers = await logIn();
  const types = { logs: "text/plain; charset=utf-8", json: "application/json; charset=utf-8" };
  for (const path of reads.filter((p) => !p.endsWith("stream"))) {
    const { status, headers: replied, body } = await send("GET", path, { headers });
    assert.equal(status, 200, path);
    assert.equal(replied["content-type"], path.includes("/logs/") ? types.logs : types.json, path);
    assert.equal(replied["x-content-type-options"], "nosniff", path);
    if (replied["content-type"] === types.json) JSON.parse(body);
  }
  // A line break in an event does not become a message of the stream.
  const stream = open("GET", "/console/api/stream", headers);
  stream.end();
  const data = await new Promise<string>((resolve) =>
    stream.on("response", (response) => {
      assert.equal(response.headers["content-type"], "text/event-stream; charset=utf-8");
      let all = "";
      response.on("data", (chunk) => {
        all += chunk;
        if (all.includes("data: ")) resolve(all);
      });
    }),
  );
  stream.destroy();
  assert.match(data, /event: snapshot/);
  assert.doesNotMatch(data, /^event: bye/m);
});

test("every response forbids frames, inline code, sniffing and referrers", async (t) => {
  const { send, logIn } = await consoleServer(t);
  const headers = await logIn();
  const found = [
    await send("GET", "/console/"),
    await send("GET", "/console/assets/main-1a2b3c4d.js"),
    await send("GET", "/console/unknown"),
    await send("GET", "/console/api/session"),
    await send("GET", "/console/api/session", { headers }),
    await send("GET", `/console/api/pods/${uid}/logs/c0`, { headers }),
    await send("POST", "/console/api/login", { headers, body: "{}" }),
    await send("POST", "/console/api/apply", { headers, body: "{}" }),
    await send("GET", "/console/", { headers: { host: "evil.example" } }),
  ];
  for (const { status, headers: replied } of found) {
    const policy = String(replied["content-security-policy"]);
    assert.match(policy, /default-src 'none'/, String(status));
    assert.match(policy, /frame-ancestors 'none'/);
    assert.match(policy, /script-src 'self'(;|$)/);
    assert.doesNotMatch(policy, /unsafe-eval|script-src[^;]*unsafe|\*|https?:/);
    assert.equal(replied["x-frame-options"], "DENY");
    assert.equal(replied["x-content-type-options"], "nosniff");
    assert.equal(replied["referrer-policy"], "no-referrer");
    assert.equal(replied["access-control-allow-origin"], undefined);
  }
});

test("files of the page have their types, are compressed and cached; data is not cached", async (t) => {
  const { send, logIn } = await consoleServer(t);
  const index = await send("GET", "/console/");
  assert.equal(index.headers["content-type"], "text/html; charset=utf-8");
  assert.equal(index.headers["cache-control"], "no-cache");
  const script = await send("GET", "/console/assets/main-1a2b3c4d.js", {
    headers: { "accept-encoding": "gzip, br" },
  });
  assert.deepEqual(
    [script.headers["content-type"], script.headers["content-encoding"], script.headers.vary, script.body],
    ["text/javascript; charset=utf-8", "br", "accept-encoding", "compressed"],
  );
  assert.equal(script.headers["cache-control"], "public, max-age=31536000, immutable");
  const plain = await send("GET", "/console/assets/main-1a2b3c4d.js");
  assert.deepEqual([plain.headers["content-encoding"], plain.body], [undefined, "export {};"]);
  const head = await send("HEAD", "/console/");
  assert.deepEqual(
    [head.status, head.headers["content-length"], head.body],
    [200, index.headers["content-length"], ""],
  );
  const session = await send("GET", "/console/api/session", { headers: await logIn() });
  assert.equal(session.headers["cache-control"], "no-store");
});

test("no spelling of a path leads out of the page's directory or around a check", async (t) => {
  const { send, node } = await consoleServer(t);
  const tricks = [
    "/console/../../etc/passwd",
    "/console/assets/../index.html",
    "/console/assets/..%2findex.html",
    "/console/assets/%2e%2e/index.html",
    "/console/assets/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "/console/assets/..%5cindex.html",
    "/console/assets/%252e%252e/index.html",
    "/console//etc/passwd",
    "/console/assets//etc/passwd",
    "/console/assets/main-1a2b3c4d.js%00.html",
    "/console/assets/main-1a2b3c4d.js.br",
    "/console/assets",
    "/console/index.html",
    "/console/assets/%",
    "/console/./api/session",
    "/console/api//session",
    "/console/api/%73ession/",
    "/console/API/session",
    `/console/api/pods/${uid}/../../session`,
    "/console/api/pods/__proto__",
    "/console/api/constructor",
    "//evil.example/console/",
    "/console/api",
  ];
  for (const path of tricks) {
    const { status, headers, body } = await send("GET", path);
    // A redirect leads to a path of this server that is checked like any other.
    if (status === 307) assert.match(String(headers.location), /^\/(?!\/)/, path);
    else assert.ok([400, 401, 404].includes(status), `${path}: ${status}`);
    assert.doesNotMatch(body, /root:|expiresAt/, path);
  }
  assert.equal(node.counts.pod, 0);
});

test("other methods are rejected with those that are allowed", async (t) => {
  const { send, logIn } = await consoleServer(t);
  const headers = await logIn();
  for (const [path, allow] of [
    ["/console/", "GET, HEAD"],
    ["/console/api/session", "GET"],
    ["/console/api/apply", "POST"],
    ["/console/api/login", "POST"],
  ] as const)
    for (const method of ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"]) {
      const { status, headers: replied } = await send(method, path, { headers });
      assert.deepEqual([status, replied.allow], [405, allow], `${method} ${path}`);
      assert.equal(replied["access-control-allow-methods"], undefined);
    }
});

test("a reader can read and cannot write; permissions are checked with each request", async (t) => {
  const { node, made } = changeable();
  const allowed = new Set(["get proxy"]);
  node.access = {
    authenticate: async ({ headers }) =>
      headers.authorization === "Bearer reader" ? { name: "reader", groups: [] } : undefined,
    allows: async (_, { verb, subresources }) => subresources.some((s) => allowed.has(`${verb} ${s}`)),
  };
  const { send, origin, headersOf } = await consoleServer(t, node);
  const json = { origin, "content-type": "application/json" };
  for (const authorization of ["", "Bearer x", "Basic cmVhZGVy"]) {
    const { status } = await send("POST", "/console/api/login", {
      headers: { ...json, authorization },
      body: "{}",
    });
    assert.equal(status, 401);
  }
  const login = await send("POST", "/console/api/login", {
    headers: { ...json, authorization: "Bearer reader" },
    body: "{}",
  });
  assert.equal(login.status, 200);
  const { key, session } = JSON.parse(login.body) as Login;
  assert.deepEqual(session.may, { logs: true, exec: false, apply: false, deletePods: false, restart: false });
  assert.ok(Math.abs(session.expiresAt - Date.now() - 3_600_000) < 600_000);
  const headers = headersOf(key);
  assert.equal((await send("GET", `/console/api/pods/${uid}`, { headers })).status, 200);
  for (const path of writes.filter((p) => !p.endsWith("logout"))) {
    const { status, body } = await send("POST", path, { headers, body: JSON.stringify({ manifest: "" }) });
    assert.deepEqual([status, codeOf(body)], [403, "forbidden"], path);
  }
  assert.equal((await send("GET", exec, { headers: { ...headers, ...webSocket } })).status, 403);
  assert.deepEqual([made, node.requests], [[], []]);
  allowed.add("create proxy");
  assert.equal((await send("GET", exec, { headers: { ...headers, ...webSocket } })).status, 101);
  allowed.clear();
  for (const path of reads) assert.equal((await send("GET", path, { headers })).status, 403, path);
});

test("a node of a cluster cannot be changed by anyone", async (t) => {
  const { send, logIn } = await consoleServer(t);
  const headers = await logIn();
  for (const path of writes.filter((p) => !p.endsWith("logout"))) {
    const body = JSON.stringify({ manifest: "kind: Pod" });
    const { status, body: replied } = await send("POST", path, { headers, body });
    assert.deepEqual([status, codeOf(replied)], [409, "conflict"], path);
    assert.match(replied, /belongs to a cluster/);
  }
});

test("bodies are limited", async (t) => {
  const { node } = changeable();
  const { send, logIn } = await consoleServer(t, node);
  const headers = await logIn();
  const large = JSON.stringify({ manifest: "x".repeat(1024 * 1024 + 1) });
  assert.equal((await send("POST", "/console/api/apply", { headers, body: large })).status, 413);
  const longer = JSON.stringify({ graceSeconds: 1, more: "x".repeat(5000) });
  assert.equal(
    (await send("POST", `/console/api/pods/${uid}/delete`, { headers, body: longer })).status,
    413,
  );
  for (const graceSeconds of [-1, 1.5, "1", null, 1e9]) {
    const body = JSON.stringify({ graceSeconds });
    assert.equal((await send("POST", `/console/api/pods/${uid}/delete`, { headers, body })).status, 400);
  }
});

test("an unknown pod and an unknown container are not found", async (t) => {
  const { node } = changeable();
  node.pods.delete(uid as PodUid);
  const { send, logIn } = await consoleServer(t, node);
  const headers = await logIn();
  for (const path of reads.filter((p) => p.includes("/pods/")))
    assert.equal((await send("GET", path, { headers })).status, 404, path);
});
