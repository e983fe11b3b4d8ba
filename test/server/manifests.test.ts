import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { type TestPair, testAuthority, testPair } from "../../src/kubelet/server/fixtures.ts";
import { freePort } from "../e2e/agent-process.ts";
import { cli } from "../e2e/cli-process.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { fakeImages } from "../fake-runtime/fake-runtime.ts";
import { StandaloneAgent } from "../faults/standalone-agent.ts";

const pod = `apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  hostNetwork: true
  containers:
    - name: c
      image: ${fakeImages.busybox}
      imagePullPolicy: Never
`;

// parity: field authentication.x509.clientCAFile
describe("pods applied over HTTPS", () => {
  const authority = testAuthority();
  const authorized = testPair(authority, "friend");
  const otherCaClient = testPair(testAuthority("another-ca"), "friend");
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
      "--enable-server=true",
      "--address=127.0.0.1",
      `--port=${port}`,
      `--cert-dir=${join(agent.dir, "pki")}`,
      `--client-ca-file=${join(agent.dir, "ca.crt")}`,
      ...flags,
    ]);
    await agent.ready();
    await waitFor(async () => assert.equal((await send("GET", "/healthz", authorized)).status < 500, true));
  };

  const send = async (method: string, path: string, who?: TestPair, body?: string) => {
    const call = request({
      host: "127.0.0.1",
      port,
      method,
      path,
      rejectUnauthorized: false,
      agent: false,
      ...who,
    });
    call.end(body);
    const [response] = await once(call, "response");
    return { status: response.statusCode as number, body: await text(response) };
  };

  test("only authorized clients may put, read and delete manifests", async () => {
    await start("--authorization-mode=AlwaysAllow", "--enable-manifests-handler");
    for (const who of [undefined, otherCaClient])
      for (const [method, path] of [
        ["GET", "/manifests"],
        ["GET", "/manifests/web"],
        ["PUT", "/manifests/web"],
        ["DELETE", "/manifests/web"],
      ] as const) {
        const response = await send(method, path, who, method === "PUT" ? pod : undefined);
        assert.deepEqual([response.status, response.body.includes("web")], [401, false], `${method} ${path}`);
      }
    assert.equal((await send("PUT", "/manifests/web", authorized, pod)).status, 201);
    assert.deepEqual(await send("GET", "/manifests/web", authorized), { status: 200, body: pod });
    await waitFor(() =>
      assert.deepEqual(
        agent.running().map((c) => c.pod),
        ["web"],
      ),
    );
    const bad = await send("PUT", "/manifests/web", authorized, pod.replace("image:", "picture:"));
    assert.equal(bad.status, 422);
    assert.deepEqual(
      (JSON.parse(bad.body) as { problems: { line: number; field: string }[] }).problems.map(
        ({ line, field }) => [line, field],
      ),
      [[8, "spec.containers[0].image"]],
    );
    assert.deepEqual(await send("GET", "/manifests/web", authorized), { status: 200, body: pod });
    await agent.end("SIGTERM");
  });

  test("only the local socket serves manifests unless the flag is set", async () => {
    await start("--authorization-mode=AlwaysAllow");
    for (const method of ["GET", "PUT", "DELETE"])
      assert.equal((await send(method, "/manifests/web", authorized)).status, 404, method);
    assert.deepEqual(await agent.request("GET", "/manifests/web"), { status: 200, body: pod });
    await agent.end("SIGTERM");
  });

  test("no client is authorized without an authorizer", async () => {
    await start("--authorization-mode=Webhook", "--enable-manifests-handler");
    assert.equal((await send("PUT", "/manifests/web", authorized, pod)).status, 403);
    assert.equal((await agent.request("DELETE", "/manifests/web")).status, 200);
    await waitFor(() => assert.deepEqual(agent.running(), []));
    await agent.end("SIGTERM");
  });

  test("an agent with anonymous AlwaysAllow access and the manifests handler does not start", async () => {
    const open = ["--anonymous-auth=true", "--authorization-mode=AlwaysAllow"];
    const done = await cli([`--root-dir=${agent.rootDir}`, "--enable-manifests-handler", ...open], {
      withinMs: 30_000,
    });
    assert.equal(done.status, 1);
    assert.match(
      done.stderr,
      /anyone who can reach the port could run any pod on this node\. Set --anonymous-auth=false/,
    );
  });
});
