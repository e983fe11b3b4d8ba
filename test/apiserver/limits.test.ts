import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from "node:http2";
import { Agent, type RequestOptions, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { type EmbeddedApi, startEmbeddedApi } from "../../src/apiserver/embedded-api.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { Kubectl, kubectlAvailable } from "../kubectl/kubectl.ts";

/** Addresses that any machine has. */
const serviceRange = "127.79.0.0/20";
const available = kubectlAvailable("1.36");

describe("limits of the embedded API", { skip: available === true ? false : available }, () => {
  let dir: string;
  let api: EmbeddedApi;
  let admin: Kubectl;
  /** Where pods reach the API. */
  let port: number;
  let token: string;
  let ca: Buffer;
  const host = "127.79.0.1";

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), "api-limits-"));
    const kubeconfig = join(dir, "kubeconfig");
    api = await startEmbeddedApi({
      dir,
      kubeconfig,
      clock: systemClock,
      logger: silentLogger,
      serviceRange,
      podRange: "127.0.0.0/8",
    });
    admin = new Kubectl("1.36", kubeconfig, "default", dir);
    ca = readFileSync(join(dir, "pki/ca.crt"));
    const ref = { resource: "services", namespace: "default", name: "kubernetes" };
    const { spec } = (await api.server.objects.get(ref)) as unknown as {
      spec: { ports: { port: number }[] };
    };
    port = spec.ports[0]!.port;
    for (const name of ["app", "other", "connecting", "writing"])
      await admin.ok(["create", "serviceaccount", name]);
    token = (await admin.ok(["create", "token", "app"])).trim();
  });
  after(async () => {
    await api?.stop();
    if (dir) rmSync(dir, { recursive: true });
  });

  const send = async (path: string, more: RequestOptions = {}, body?: string) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", ...more.headers };
    const call = request({ host, port, ca, path, ...more, headers });
    call.on("error", () => {});
    call.end(body);
    const [response] = await once(call, "response");
    return { status: response.statusCode as number, headers: response.headers, body: await text(response) };
  };

  const as = async (name: string) => ({
    authorization: `Bearer ${(await admin.ok(["create", "token", name])).trim()}`,
  });

  test("a token that opens thousands of watches gets as many as its limit, and other users are served", async (t) => {
    const sessions = Array.from({ length: 4 }, () => connect(`https://${host}:${port}`, { ca }));
    t.after(() => sessions.forEach((session) => void session.destroy()));
    const watch = async (session: ClientHttp2Session) => {
      const stream = session.request({
        ":path": "/api/v1/namespaces/default/pods?watch=1",
        authorization: `Bearer ${token}`,
      });
      stream.on("error", () => {}).on("data", () => {});
      const [headers] = (await once(stream, "response")) as [IncomingHttpHeaders];
      return { stream, status: headers[":status"], retryAfter: headers["retry-after"] };
    };
    const opened = await Promise.all(
      sessions.flatMap((session) => Array.from({ length: 900 }, () => watch(session))),
    );
    const accepted = opened.filter(({ status }) => Number(status) === 200);
    const rejected = opened.filter(({ status, retryAfter }) => Number(status) === 429 && retryAfter === "1");
    assert.deepEqual([accepted.length, rejected.length], [100, 3500]);
    const problem = await send("/api/v1/namespaces/default/pods?watch=1");
    const { reason, message, code } = JSON.parse(problem.body);
    assert.deepEqual(
      { reason, message, code },
      { reason: "TooManyRequests", message: "Too many requests, please try again later.", code: 429 },
    );
    // Its other requests, other users and the administrator are served.
    const list = "/api/v1/namespaces/default/pods";
    assert.equal((await send(list)).status, 200);
    const headers = await as("other");
    const others = Array.from({ length: 100 }, () => send(`${list}?watch=1&timeoutSeconds=1`, { headers }));
    assert.match(await admin.ok(["get", "serviceaccounts"]), /^other /m);
    assert.ok((await Promise.all(others)).every(({ status }) => status === 200));
    // A watch that ends makes room for another.
    accepted[0]?.stream.destroy();
    await waitFor(async () => assert.equal(Number((await watch(sessions[1]!)).status), 200));
  });

  test("a token that keeps many connections open gets as many as its limit", async (t) => {
    const agents = Array.from({ length: 130 }, () => new Agent({ keepAlive: true }));
    t.after(() => agents.forEach((agent) => void agent.destroy()));
    const path = "/api/v1/namespaces/default/configmaps";
    const headers = await as("connecting");
    const statuses: number[] = [];
    for (const agent of agents) statuses.push((await send(path, { agent, headers })).status);
    const count = (status: number) => statuses.filter((each) => each === status).length;
    assert.deepEqual([count(200), count(429)], [100, 30]);
    assert.match(await admin.ok(["get", "configmaps"]), /kube-root-ca.crt/);
  });

  test("a pod sends smaller bodies than the administrator", async () => {
    const review = (size: number) =>
      JSON.stringify({
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { nonResourceAttributes: { path: `/${"x".repeat(size)}`, verb: "get" } },
      });
    const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    const headers = await as("writing");
    const post = (size: number) => send(path, { method: "POST", headers }, review(size));
    assert.equal((await post(100)).status, 201);
    const { status, body } = await post(300 * 1024);
    assert.deepEqual([status, JSON.parse(body).message], [413, "Request entity too large: limit is 262144"]);
    const data = { text: "x".repeat(900 * 1024) };
    const large = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "large" }, data };
    assert.match(await admin.ok(["create", "-f", "-"], { input: large }), /large created/);
  });
});
