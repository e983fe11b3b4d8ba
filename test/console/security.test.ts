import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { FakeConsoleNode, fakeConsolePod, fakeExplanation } from "../../src/console/fake-console-node.ts";
import type { ConsoleError } from "../../src/console/protocol.ts";
import { resumeProof } from "../../src/console/sessions/persisted-sessions.ts";
import { abortError } from "../../src/lib/base/errors.ts";
import { whenAborted } from "../../src/lib/base/when-aborted.ts";
import type { ConsoleChanges } from "../../src/lib/model/console-node.ts";
import { fakePod } from "../../src/lib/model/fake-pod.ts";
import type { PodUid } from "../../src/lib/model/pod.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { consoleServer } from "./console-server.ts";

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
  ...{ connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" },
  ...{ "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==", "sec-websocket-protocol": "v5.channel.k8s.io" },
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

test("without a session no data is served and nothing is changed", async (t) => {
  const { node, made } = changeable();
  const { send, origin } = await consoleServer(t, node);
  const cookies = [
    "",
    "kubelet-console=x",
    "kubelet-console-1=x",
    `kubelet-console-${origin.split(":")[2]}=x`,
  ];
  for (const cookie of cookies) {
    const headers = { cookie, origin, "content-type": "application/json", "x-console-csrf": "x" };
    for (const path of reads) {
      const { status, body } = await send("GET", path, { headers });
      assert.equal(status, 401, `${path} ${cookie}`);
      assert.equal(codeOf(body), "unauthenticated");
    }
    for (const path of writes) assert.equal((await send("POST", path, { headers, body: "{}" })).status, 401);
    assert.equal((await send("GET", exec, { headers: { ...headers, ...webSocket } })).status, 401);
  }
  assert.deepEqual([made, node.requests, node.counts.pod], [[], [], 0]);
});

test("a link logs in once, with a cookie that scripts and other sites cannot use", async (t) => {
  const { send, console } = await consoleServer(t);
  const link = console.link();
  assert.match(link, /^\/console\/login\?token=[\w-]{43}$/);
  // Neither a prefetch nor another method uses it up.
  const prefetch = await send("GET", link, { headers: { "sec-purpose": "prefetch" } });
  assert.deepEqual([prefetch.status, prefetch.headers["set-cookie"]], [401, undefined]);
  for (const method of ["HEAD", "POST"]) assert.equal((await send(method, link)).status, 405);
  const { status, headers } = await send("GET", link);
  assert.deepEqual([status, headers.location], [303, "/console/"]);
  assert.match(
    String(headers["set-cookie"]?.[0]),
    /^kubelet-console-\d+=[\w-]{43}; Path=\/console; Max-Age=43200; HttpOnly; SameSite=Strict$/,
  );
  for (const wrong of [link, "/console/login", "/console/login?token=", "/console/login?token=x"]) {
    const again = await send("GET", wrong);
    assert.deepEqual([again.status, again.headers["set-cookie"]], [401, undefined], wrong);
    assert.equal(again.headers["content-type"], "text/html; charset=utf-8");
  }
});

test("a host name that is not the node's is rejected (DNS rebinding)", async (t) => {
  const { send, logIn, port, console } = await consoleServer(t);
  const headers = await logIn();
  const link = console.link();
  for (const host of [
    "evil.example",
    `evil.example:${port}`,
    "127.0.0.1",
    `127.0.0.1.evil.example:${port}`,
    `127.0.0.1:${port + 1}`,
  ])
    for (const path of ["/console/", "/console/assets/main-1a2b3c4d.js", ...reads, link]) {
      const { status, body } = await send("GET", path, { headers: { ...headers, host } });
      assert.equal(status, 403, `${host} ${path}`);
      assert.equal(codeOf(body), "cross-site");
    }
  assert.equal((await send("GET", link, { headers: { host: `localhost:${port}` } })).status, 303);
});

test("requests of other sites are rejected, even with the cookie", async (t) => {
  const { node, made } = changeable();
  const { send, logIn, port } = await consoleServer(t, node);
  const headers = await logIn();
  const { origin: _, ...withoutOrigin } = headers;
  const foreign = [
    { ...headers, origin: "https://evil.example" },
    { ...headers, origin: "null" },
    { ...headers, origin: `http://127.0.0.1:${port + 1}` },
    { ...headers, origin: `https://127.0.0.1:${port}` },
    // Another name of the node, but not the one of this request: another process may listen there, on ::1.
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

test("a change needs the CSRF header and JSON: a form has neither", async (t) => {
  const { node, made } = changeable();
  const { send, logIn } = await consoleServer(t, node);
  const headers = await logIn();
  const { "x-console-csrf": csrf = "", ...withoutCsrf } = headers;
  for (const path of writes) {
    for (const wrong of [
      withoutCsrf,
      { ...headers, "x-console-csrf": "" },
      { ...headers, "x-console-csrf": `${csrf}x` },
    ])
      assert.equal(codeOf((await send("POST", path, { headers: wrong, body: "{}" })).body), "cross-site");
    if (path.endsWith("logout")) continue;
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

test("a session ends with its logout", async (t) => {
  const { send, logIn } = await consoleServer(t);
  const headers = await logIn();
  const { status, headers: replied } = await send("POST", "/console/api/logout", { headers, body: "{}" });
  assert.equal(status, 204);
  assert.match(String(replied["set-cookie"]?.[0]), /=; Path=\/console; Max-Age=0;/);
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

test("a page resumes its session after a restart with its key, and not with the cookie alone", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "console-sessions-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const more = { sessionsFile: join(dir, "sessions.json") };
  const before = await consoleServer(t, undefined, more);
  const old = await before.logIn();
  const { body } = await before.send("GET", "/console/api/session", { headers: old });
  const { resumeKey } = JSON.parse(body) as { resumeKey: string };
  before.console.stop();
  const { send, origin, port, console } = await consoleServer(t, undefined, more);
  // The same port, for the browser.
  const cookie = `kubelet-console-${port}=${old.cookie?.split("=")[1]}`;
  const headers = {
    cookie,
    origin,
    "content-type": "application/json",
    "x-console-csrf": old["x-console-csrf"] ?? "",
  };
  const challengeOf = async (of: string) => {
    const reply = await send("GET", "/console/api/session", { headers: { cookie: of } });
    assert.equal(reply.status, 401);
    return (JSON.parse(reply.body) as ConsoleError).error.login?.challenge;
  };
  assert.equal(await challengeOf(`${cookie}x`), undefined);
  const challenge = (await challengeOf(cookie)) ?? "";
  for (const path of reads) assert.equal((await send("GET", path, { headers })).status, 401, path);
  const resume = (proof: unknown, sent: Record<string, string> = headers) =>
    send("POST", "/console/api/resume", { headers: sent, body: JSON.stringify({ proof }) });
  const proof = resumeProof(resumeKey, challenge, origin);
  for (const wrong of [
    "",
    undefined,
    old["x-console-csrf"],
    resumeProof(resumeKey, challenge, "http://127.0.0.1:1"),
  ])
    assert.equal((await resume(wrong)).status, 401);
  assert.equal((await resume(proof, { ...headers, origin: "http://evil.example" })).status, 403);
  const { "content-type": _, ...withoutType } = headers;
  assert.equal((await resume(proof, withoutType)).status, 415);
  const resumed = await resume(proof);
  assert.equal(resumed.status, 200, resumed.body);
  const now = String(resumed.headers["set-cookie"]?.[0]).split(";", 1)[0] ?? "";
  assert.notEqual(now, cookie);
  assert.equal((await send("GET", "/console/api/session", { headers: { cookie: now } })).status, 200);
  assert.equal((await resume(proof)).status, 401);
  const { csrf } = JSON.parse(resumed.body) as { csrf: string };
  const own = { ...headers, cookie: now, "x-console-csrf": csrf };
  assert.equal((await send("POST", "/console/api/logout", { headers: own, body: "{}" })).status, 204);
  console.stop();
  const last = await consoleServer(t, undefined, more);
  const gone = `kubelet-console-${last.port}=${now.split("=")[1]}`;
  const reply = await last.send("GET", "/console/api/session", { headers: { cookie: gone } });
  assert.doesNotMatch(reply.body, /challenge/);
});

test("two cookies of the same name are rejected: one of them was set by another server", async (t) => {
  const { send, logIn } = await consoleServer(t);
  const headers = await logIn();
  const { cookie = "" } = headers;
  const twice = `${cookie}; ${cookie.split("=", 1)[0]}=x`;
  assert.equal(
    (await send("GET", "/console/api/session", { headers: { ...headers, cookie: twice } })).status,
    401,
  );
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
    await send("GET", "/console/login?token=x"),
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
    assert.doesNotMatch(body, /root:|csrf/, path);
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
    ["/console/login", "GET"],
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
  const { send, origin } = await consoleServer(t, node);
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
  const session = JSON.parse(login.body) as { csrf: string; may: object; readOnlyBecause: string };
  assert.deepEqual(session.may, { logs: true, exec: false, apply: false, deletePods: false, restart: false });
  assert.match(String(login.headers["set-cookie"]?.[0]), /Max-Age=3600;/);
  const cookie = String(login.headers["set-cookie"]?.[0]).split(";", 1)[0] ?? "";
  const headers = { ...json, cookie, "x-console-csrf": session.csrf };
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
