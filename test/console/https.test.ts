import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { connect } from "node:http2";
import { request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import type { Login } from "../../src/console/protocol.ts";
import { type TestPair, testAuthority, testPair } from "../../src/kubelet/server/fixtures.ts";
import { freePort } from "../e2e/agent-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { fakeImages } from "../fake-runtime/fake-runtime.ts";
import { StandaloneAgent } from "../faults/standalone-agent.ts";
import { tokenOf } from "./console-server.ts";

const pod = `apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  hostNetwork: true
  containers: [{ name: c, image: "${fakeImages.busybox}", imagePullPolicy: Never }]
`;

describe("the console on the port of the kubelet API", () => {
  const authority = testAuthority();
  const admin = testPair(authority, "admin");
  const stranger = testPair(testAuthority("another-ca"), "admin");
  let agent: StandaloneAgent;
  let port: number;

  before(async () => {
    agent = await StandaloneAgent.create();
    port = await freePort();
    writeFileSync(join(agent.dir, "ca.crt"), authority.certificate);
  });
  after(() => agent?.destroy());

  const start = async (...flags: string[]) => {
    agent.start([
      ...["--enable-server=true", "--address=127.0.0.1", `--port=${port}`],
      ...[`--cert-dir=${join(agent.dir, "pki")}`, `--client-ca-file=${join(agent.dir, "ca.crt")}`],
      ...flags,
    ]);
    await agent.ready();
    await waitFor(async () =>
      assert.equal((await send("GET", "/healthz", { who: admin })).status < 500, true),
    );
  };

  const send = async (
    method: string,
    path: string,
    o: { who?: TestPair; headers?: Record<string, string>; body?: object } = {},
  ) => {
    const json = o.body && { "content-type": "application/json" };
    const call = request({
      host: "127.0.0.1",
      port,
      method,
      path,
      rejectUnauthorized: false,
      agent: false,
      ...o.who,
      headers: { origin: `https://127.0.0.1:${port}`, ...json, ...o.headers },
    });
    call.end(o.body && JSON.stringify(o.body));
    const [response] = await once(call, "response");
    assert.equal(response.headers["set-cookie"], undefined);
    return { status: response.statusCode as number, body: await text(response) };
  };

  const logIn = async () => {
    const { status, body } = await send("POST", "/console/api/login", { who: admin, body: {} });
    assert.equal(status, 200, body);
    const { key, resumeKey, session } = JSON.parse(body) as Login;
    assert.equal(resumeKey, null);
    return { session, headers: { "x-console-key": key } };
  };

  test("every path is unknown unless the flag is set", async () => {
    await start("--authorization-mode=AlwaysAllow");
    for (const path of [
      ...["", "/", "/login?token=x", "/api/session", "/api/stream", "/api/login", "/assets/main.js"],
      ...["/api/pods/1", "/api/apply", "/x/y/z", "/../console/", "/%2e%2e/", "//"],
    ])
      for (const method of ["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS"])
        for (const who of [undefined, admin]) {
          let { status } = await send(method, `/console${path}`, who ? { who } : {});
          // A path that is not normalized is redirected first.
          if (status === 307) status = (await send(method, "/console/", who ? { who } : {})).status;
          // A decoded path must not have dots either.
          assert.ok(status === 404 || (path.includes("%") && status === 400), `${method} ${path}: ${status}`);
        }
    assert.equal((await agent.request("POST", "/console-link")).status, 404);
    await agent.end("SIGTERM");
  });

  test("a client certificate logs in, and a session reads; without a session nothing is read", async () => {
    await start("--authorization-mode=AlwaysAllow", "--enable-console");
    for (const who of [undefined, stranger])
      assert.equal((await send("POST", "/console/api/login", { ...(who && { who }), body: {} })).status, 401);
    const { session, headers } = await logIn();
    assert.equal(session.user, "admin");
    assert.deepEqual(session.may, {
      logs: true,
      exec: true,
      apply: false,
      deletePods: false,
      restart: false,
    });
    assert.match(session.readOnlyBecause ?? "", /--enable-manifests-handler/);
    assert.equal((await send("GET", "/console/api/session", { headers })).status, 200);
    // The certificate alone is not a session: a page of another site would send it, too.
    assert.equal((await send("GET", "/console/api/session", { who: admin })).status, 401);
    assert.equal(
      (await send("GET", "/console/api/images", { headers: { ...headers, host: "evil.example" } })).status,
      403,
    );
    // The key is for the console only.
    assert.equal((await send("GET", "/pods", { headers })).status, 401);
    await agent.end("SIGTERM");
  });

  test("no user may read without an authorizer; root may, by link", async () => {
    await start("--authorization-mode=Webhook", "--enable-console");
    assert.equal((await send("POST", "/console/api/login", { who: admin, body: {} })).status, 403);
    const { link } = JSON.parse((await agent.request("POST", "/console-link")).body) as { link: string };
    assert.ok(link.startsWith(`https://127.0.0.1:${port}/console/#login=`), link);
    const opened = await send("POST", "/console/api/login", { body: { token: tokenOf(link) } });
    assert.equal(opened.status, 200, opened.body);
    const headers = { "x-console-key": (JSON.parse(opened.body) as Login).key };
    assert.equal((await send("GET", "/console/api/session", { headers })).status, 200);
    await agent.end("SIGTERM");
  });

  test("with the manifests handler pods are applied, and the stream shows them over HTTP/2", async () => {
    await start("--authorization-mode=AlwaysAllow", "--enable-console", "--enable-manifests-handler");
    const { headers } = await logIn();
    const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    const stream = session.request({ ":path": "/console/api/stream", ...headers });
    let received = "";
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      received += chunk;
    });
    stream.on("error", () => {});
    await waitFor(() => assert.match(received, /^event: snapshot$/m));
    const applied = await send("POST", "/console/api/apply", { headers, body: { manifest: pod } });
    assert.equal(applied.status, 200, applied.body);
    await waitFor(() => assert.match(received, /^event: changes\n.*\ndata: .*"name":"web-/m));
    const checked = await send("POST", "/console/api/apply", {
      headers,
      body: { manifest: pod, dryRun: true },
    });
    assert.match(checked.body, /"result":"valid"/);
    session.destroy();
    await agent.end("SIGTERM");
  });
});
