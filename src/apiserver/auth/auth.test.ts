import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { systemClock } from "../../lib/base/clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { generateKey, makeRequest, parseCertificates, privateKeyPem } from "../../lib/base/x509/x509.ts";
import { definitions } from "../kinds/definitions.ts";
import { podDefinition } from "../kinds/pods/pod-definition.ts";
import { ApiServer } from "../server.ts";
import { memoryStore } from "../storage/fixtures.ts";
import { type Auth, auth, type Pki, preparePki } from "./auth.ts";
import { bootstrapToken } from "./tokens/fixtures.ts";

/** The Node.js types have this option for TLS sockets only. */
const http1 = { ALPNProtocols: ["http/1.1"] } as https.RequestOptions;

type Credential = { cert: string; key: string } | { token: string } | undefined;

// biome-ignore lint/suspicious/noExplicitAny: responses of many kinds.
type Body = any;

async function setUp(t: TestContext) {
  const dir = mkdtempSync(join(tmpdir(), "auth-"));
  const pki: Pki = preparePki({ dir, clock: systemClock, hostnames: [], addresses: [] });
  const parts: Auth = auth({
    pki,
    ownNames: { serviceAddress: "10.96.0.1", endpoints: [], localNodes: [] },
    objects: () => server.objects,
    clock: systemClock,
    logger: silentLogger,
    certificateLifetimeMs: 60_000,
    minimumCertificateSeconds: 60,
  });
  const store = memoryStore();
  const { authenticator, authorizer, admission } = parts;
  const server: ApiServer = new ApiServer({
    store,
    definitions: definitions({ ...parts, pods: podDefinition({ mountTokens: false }) }),
    authenticator,
    authorizer,
    admission,
    tls: {
      key: pki.serving.key,
      cert: pki.serving.certificate,
      clientCa: pki.ca.certificate,
    },
  });
  const stop = new AbortController();
  await server.start(stop.signal);
  for (const component of parts.components) await component.start(stop.signal);
  t.after(async () => {
    stop.abort();
    await Promise.all([server.done, ...parts.components.map(({ done }) => done)]);
    await store.close();
    rmSync(dir, { recursive: true });
  });
  const send = (credential: Credential, method: string, path: string, body?: object) =>
    request({ port: server.port, ca: pki.ca.certificate, credential, method, path, body });
  const admin = { cert: pki.admin.certificate, key: pki.admin.key };
  for (const name of ["kube-system", "kube-node-lease", "ns"]) {
    const created = await send(admin, "POST", "/api/v1/namespaces", { metadata: { name } });
    assert.equal(created.status, 201, JSON.stringify(created.body));
  }
  return { send, admin };
}

function request(o: {
  port: number;
  ca: string;
  credential: Credential;
  method: string;
  path: string;
  body: object | undefined;
}): Promise<{ status: number; body: Body }> {
  const { port, ca, credential, method, path, body } = o;
  return new Promise((resolve, reject) => {
    const headers: Record<string, string> = { "content-type": "application/json" };
    if (credential && "token" in credential) headers.authorization = `Bearer ${credential.token}`;
    const pair = credential && "cert" in credential ? credential : {};
    const sent = https.request(
      {
        host: "localhost",
        port,
        ca,
        method,
        path,
        headers,
        agent: false,
        ...http1,
        ...pair,
      },
      (response) => {
        let text = "";
        response.on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () => {
          const json = text.startsWith("{") ? JSON.parse(text) : text;
          resolve({ status: response.statusCode ?? 0, body: json });
        });
      },
    );
    sent.on("error", reject);
    sent.end(body && JSON.stringify(body));
  });
}

const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

test("a kubelet joins with a bootstrap token, gets its certificate, and can access only its own objects", async (t) => {
  const { send, admin } = await setUp(t);
  const { token, secret } = bootstrapToken({ expires: new Date(Date.now() + 60_000) });
  assert.equal((await send(admin, "POST", "/api/v1/namespaces/kube-system/secrets", secret)).status, 201);

  const { privateKey } = generateKey();
  const pem = makeRequest({
    subject: { commonName: "system:node:n1", organizations: ["system:nodes"] },
    key: privateKey,
  });
  const created = await send({ token }, "POST", requests, {
    metadata: { generateName: "node-csr-" },
    spec: {
      request: Buffer.from(pem).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client-kubelet",
      usages: ["digital signature", "client auth"],
    },
  });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  assert.match(created.body.spec.username, /^system:bootstrap:/);
  const path = `${requests}/${created.body.metadata.name}`;
  let certificate: string | undefined;
  for (let i = 0; i < 500 && !certificate; i++)
    certificate = (await send({ token }, "GET", path)).body.status.certificate;
  assert(certificate, "the certificate was not issued");
  const cert = Buffer.from(certificate, "base64").toString();
  const [parsed] = parseCertificates(cert);
  assert(parsed!.notAfter.getTime() - Date.now() <= 60_000);

  const kubelet = { cert, key: privateKeyPem(privateKey) };
  const me = await send(kubelet, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {});
  assert.equal(me.body.status.userInfo.username, "system:node:n1");
  assert.deepEqual(me.body.status.userInfo.groups, ["system:nodes", "system:authenticated"]);

  const node = (name: string) => send(kubelet, "POST", "/api/v1/nodes", { metadata: { name } });
  assert.equal((await node("n1")).status, 201);
  const other = await node("n2");
  assert.equal(other.status, 403);
  assert.equal(other.body.message, 'nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"');
  const read = await send(kubelet, "GET", "/api/v1/namespaces/kube-system/secrets/x");
  assert.equal(read.status, 403);
  assert.equal(
    read.body.message,
    `secrets "x" is forbidden: User "system:node:n1" cannot get resource "secrets" in API group "" in the namespace "kube-system": no relationship found between node 'n1' and this object`,
  );
  assert.equal((await send(kubelet, "GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1")).status, 200);
  assert.equal((await send(kubelet, "GET", "/api/v1/pods")).status, 403);
  const label = await send(kubelet, "PUT", "/api/v1/nodes/n1", {
    metadata: { name: "n1", labels: { "node-role.kubernetes.io/x": "" } },
  });
  assert.equal(label.status, 403);

  // A pod on the node gives the node access to the pod's secret and service account.
  const secretMade = await send(admin, "POST", "/api/v1/namespaces/ns/secrets", { metadata: { name: "s" } });
  assert.equal(secretMade.status, 201);
  assert.equal(
    (await send(admin, "POST", "/api/v1/namespaces/ns/serviceaccounts", { metadata: { name: "default" } }))
      .status,
    201,
  );
  const pod = await send(admin, "POST", "/api/v1/namespaces/ns/pods", {
    metadata: { name: "p" },
    spec: {
      nodeName: "n1",
      serviceAccountName: "default",
      containers: [{ name: "c", image: "i" }],
      volumes: [
        { name: "v", secret: { secretName: "s" } },
        { name: "t", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } },
      ],
    },
  });
  assert.equal(pod.status, 201, JSON.stringify(pod.body));
  assert.equal((await send(kubelet, "GET", "/api/v1/namespaces/ns/secrets/s")).status, 200);
  const { name, uid } = pod.body.metadata;
  const issued = await send(kubelet, "POST", "/api/v1/namespaces/ns/serviceaccounts/default/token", {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid } },
  });
  assert.equal(issued.status, 201, JSON.stringify(issued.body));

  // With this token a container can read its own pod, but no secret.
  const account = { token: issued.body.status.token };
  assert.equal((await send(account, "GET", "/api/v1/namespaces/ns/pods/p")).status, 200);
  assert.equal((await send(account, "GET", "/api/v1/namespaces/ns/secrets/s")).status, 403);
  const review = await send(kubelet, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
    spec: account,
  });
  assert.equal(review.body.status.user.username, "system:serviceaccount:ns:default");
  assert.equal(review.body.status.user.extra["authentication.kubernetes.io/node-name"][0], "n1");
  await send(admin, "DELETE", "/api/v1/namespaces/ns/pods/p?gracePeriodSeconds=0");
  assert.equal((await send(account, "GET", "/api/v1/namespaces/ns/pods")).status, 401);
  assert.equal((await send(kubelet, "GET", "/api/v1/namespaces/ns/secrets/s")).status, 403);
});

test("a user's certificate signing request is signed once it is approved", async (t) => {
  const { send, admin } = await setUp(t);
  const pem = makeRequest({
    subject: { commonName: "jane", organizations: ["dev"] },
    key: generateKey().privateKey,
  });
  const created = await send(admin, "POST", requests, {
    metadata: { name: "jane" },
    spec: {
      request: Buffer.from(pem).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["client auth"],
      expirationSeconds: 60,
    },
  });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const approved = {
    ...created.body,
    status: { conditions: [{ type: "Approved", status: "True", reason: "KubectlApprove" }] },
  };
  const response = await send(admin, "PUT", `${requests}/jane/approval`, approved);
  assert.equal(response.status, 200, JSON.stringify(response.body));
  let certificate: string | undefined;
  for (let i = 0; i < 500 && !certificate; i++)
    certificate = (await send(admin, "GET", `${requests}/jane`)).body.status.certificate;
  const [parsed] = parseCertificates(Buffer.from(certificate ?? "", "base64").toString());
  assert.deepEqual(parsed?.subject, { commonName: "jane", organizations: ["dev"] });
});

test("an anonymous client may only read health and version", async (t) => {
  const { send } = await setUp(t);
  assert.equal((await send(undefined, "GET", "/healthz")).status, 200);
  assert.equal((await send(undefined, "GET", "/version")).status, 200);
  const rejected = await send(undefined, "GET", "/api/v1/pods");
  assert.equal(rejected.status, 401);
  assert.equal(rejected.body.reason, "Unauthorized");
  assert.equal((await send({ token: "junk" }, "GET", "/healthz")).status, 401);
});
