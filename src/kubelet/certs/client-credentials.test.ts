import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { systemClock } from "../../lib/base/clock.ts";
import { silentLogger } from "../../lib/base/logger.ts";
import { createMetrics } from "../../lib/base/metrics.ts";
import { generateKey, makeRequest, privateKeyPem } from "../../lib/base/x509/x509.ts";
import { type KubeAccess, loadKubeconfig } from "../../lib/clients/kube/kubeconfig.ts";
import { HttpKubeTransport } from "../../lib/clients/kube/transport.ts";
import type { KubeTransport } from "../../lib/clients/kube/transport-interface.ts";
import { kubeCertificateApi } from "./certificate-api.ts";
import { type ClientCredentials, clientCredentials } from "./client-credentials.ts";
import { available, issue } from "./fake-signer.ts";
import { FakeSigningServer } from "./fake-signing-server.ts";
import { servingCertificateManager } from "./managers.ts";

let dir: string;
let url: string;
let server: FakeSigningServer;
let stop: AbortController;
let cleanups: (() => void | Promise<void>)[];
const at = (name: string) => join(dir, name);
const current = () => at("pki/kubelet-client-current.pem");
const nodeUser = "system:node:n1";

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "certs-"));
  server = new FakeSigningServer();
  url = await server.start();
  stop = new AbortController();
  cleanups = [];
  await writeFile(at("bootstrap.conf"), server.kubeconfig(url, { token: server.token }));
});
afterEach(async () => {
  stop.abort();
  for (const cleanup of cleanups.reverse()) await cleanup();
  await server.stop();
  await rm(dir, { recursive: true, force: true });
});

function connect(access: KubeAccess): KubeTransport {
  const transport = new HttpKubeTransport({
    access,
    userAgent: "test",
    qps: 0,
    burst: 0,
    logger: silentLogger,
    clock: systemClock,
  });
  cleanups.push(() => transport.close());
  return transport;
}

async function credentials(
  more: Partial<Parameters<typeof clientCredentials>[0]> = {},
): Promise<ClientCredentials> {
  const credentials = await clientCredentials({
    kubeconfig: at("kubelet.conf"),
    bootstrapKubeconfig: at("bootstrap.conf"),
    certDir: at("pki"),
    nodeName: "n1",
    rotate: true,
    connect,
    clock: systemClock,
    random: () => 0.5,
    logger: silentLogger,
    metrics: createMetrics(),
    signal: stop.signal,
    ...more,
  });
  cleanups.push(() => credentials.close());
  return credentials;
}

async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (const deadline = Date.now() + 20_000; Date.now() < deadline; ) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.fail(`it is not so in time: ${what}`);
}

/** Sends a request with the given credentials; the server accepts or rejects them. */
const isKnown = (transport: KubeTransport) =>
  transport
    .request({ method: "GET", path: "/apis/certificates.k8s.io/v1/certificatesigningrequests" })
    .then(() => true)
    .catch((error) => {
      assert.equal((error as { status?: number }).status, 401);
      return false;
    });

/** A kubeconfig with a certificate that the test issued. */
async function kubeconfigWith(user: { name: string; until: number; inFiles?: boolean }): Promise<void> {
  const { privateKey } = generateKey();
  const subject = { commonName: user.name, organizations: ["system:nodes"] };
  const request = makeRequest({ subject, key: privateKey });
  const validity = { from: Date.now() - 1000, until: user.until };
  const cert = issue(server.authority, request, ["client auth"], validity);
  const key = privateKeyPem(privateKey);
  if (user.inFiles) {
    await writeFile(at("my.crt"), cert);
    await writeFile(at("my.key"), key);
    const files = { "client-certificate": "my.crt", "client-key": "my.key" };
    return writeFile(at("kubelet.conf"), server.kubeconfig(url, files));
  }
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const data = { "client-certificate-data": base64(cert), "client-key-data": base64(key) };
  return writeFile(at("kubelet.conf"), server.kubeconfig(url, data));
}

test("bootstrap without rotation waits for the certificate and writes a kubeconfig that names it", async () => {
  server.approve = false;
  const waiting = credentials({ rotate: false });
  await until(() => server.csrs.length === 1, "a certificate is requested");
  const [csr] = server.csrs;
  assert.match(csr!.metadata.name, /^node-csr-[\w-]{43}$/);
  assert.equal(csr!.spec.signerName, "kubernetes.io/kube-apiserver-client-kubelet");
  assert.deepEqual(csr!.spec.usages, ["digital signature", "client auth"]);
  assert.ok(!("expirationSeconds" in csr!.spec));
  assert.ok(existsSync(at("pki/kubelet-client.key.tmp")));
  server.sign(csr!);
  const { access, manager } = await waiting;
  assert.equal(manager, undefined);
  assert.equal(await isKnown(connect(access)), true);
  assert.ok(!existsSync(at("pki/kubelet-client.key.tmp")));
  const written = await readFile(at("kubelet.conf"), "utf8");
  assert.match(written, new RegExp(`server: ${url}\n`));
  assert.match(written, new RegExp(`client-certificate: ${current()}\n`));
  assert.match(written, /current-context: default-context\n/);
  assert.equal((await stat(at("kubelet.conf"))).mode & 0o777, 0o600);
  assert.deepEqual(access.cluster.certificateAuthority?.kind, "data");
  await credentials({ rotate: false });
  assert.equal(server.csrs.length, 1, "the next start has all it needs");
});

test("a start that was killed while it waited finds its request again", async () => {
  server.approve = false;
  const first = new AbortController();
  const waiting = credentials({ rotate: false, signal: first.signal });
  const ended = assert.rejects(waiting, { name: "AbortError" });
  await until(() => server.csrs.length === 1, "a certificate is requested");
  first.abort();
  await ended;
  server.sign(server.csrs[0]!);
  const { access } = await credentials({ rotate: false });
  assert.equal(server.csrs.length, 1);
  assert.equal(await isKnown(connect(access)), true);
});

test("a request whose certificate has expired is not used again", async () => {
  server.lifetimeMs = -500;
  await credentials({ rotate: false });
  assert.equal(server.csrs.length, 1);
  server.lifetimeMs = 3_600_000;
  const { access } = await credentials({ rotate: false });
  assert.equal(server.csrs.length, 2);
  assert.equal(await isKnown(connect(access)), true);
});

test("a denied request fails startup with the reason", async () => {
  server.approve = false;
  const waiting = credentials({ rotate: false });
  const ended = assert.rejects(
    waiting,
    /certificate signing request is denied, reason: No, message: not you/,
  );
  await until(() => server.csrs.length === 1, "a certificate is requested");
  server.csrs[0]!.status = { conditions: [{ type: "Denied", reason: "No", message: "not you" }] };
  server.touch(server.csrs[0]!);
  await ended;
  assert.ok(!existsSync(at("kubelet.conf")));
});

test("bootstrap with rotation continues in the background, and later requests come from the node", async () => {
  server.lifetimeMs = 3000;
  server.approve = false;
  const { access, manager } = await credentials();
  assert.ok(existsSync(at("kubelet.conf")), "the kubeconfig is there before the certificate");
  const transport = connect(access);
  await assert.rejects(transport.request({ method: "GET", path: "/version" }), /kubelet-client-current.pem/);
  await manager!.start(stop.signal);
  await until(() => server.csrs.length === 1, "a certificate is requested");
  assert.match(server.csrs[0]!.metadata.name, /^csr-/);
  server.approve = true;
  server.sign(server.csrs[0]!);
  const first = await available(manager!);
  await until(() => isKnown(transport), "the agent is known as the node");
  await until(
    () => manager!.current() !== undefined && manager!.current() !== first,
    "the certificate is rotated",
  );
  await until(() => Date.now() > first.leaf.notAfter.getTime() + 1000, "the first one has expired");
  assert.equal(await isKnown(transport), true, "the same client continues with the new certificate");
  assert.equal(server.requestedBy[0], "bootstrapper");
  await until(() => server.requestedBy.includes(nodeUser), "the node requests it itself");
  stop.abort();
  await manager!.done;
});

test("a valid kubeconfig needs no bootstrap, not even the file for it", async () => {
  await kubeconfigWith({ name: nodeUser, until: Date.now() + 3_600_000, inFiles: true });
  const before = await readFile(at("kubelet.conf"), "utf8");
  await rm(at("bootstrap.conf"));
  const { access, manager } = await credentials();
  await manager!.start(stop.signal);
  assert.equal(await isKnown(connect(access)), true);
  assert.equal(await readFile(at("kubelet.conf"), "utf8"), before);
  assert.equal(server.csrs.length, 0);
  assert.ok(existsSync(current()), "the certificate is where it will be rotated");
  await assert.doesNotReject(credentials({ rotate: false }));
});

test("a kubeconfig that has expired is rewritten, and the node bootstraps again", async () => {
  await kubeconfigWith({ name: nodeUser, until: Date.now() - 500 });
  const { access, manager } = await credentials();
  await manager!.start(stop.signal);
  await available(manager!);
  assert.deepEqual(server.requestedBy, ["bootstrapper"]);
  assert.equal(await isKnown(connect(access)), true);
  const loaded = await loadKubeconfig(at("kubelet.conf"));
  assert.deepEqual(loaded.user.clientCertificate?.cert.kind, "file");
});

test("a certificate inside a kubeconfig is used to request the node's own, immediately", async () => {
  await kubeconfigWith({ name: "admin", until: Date.now() + 3_600_000 });
  const { manager } = await credentials({ bootstrapKubeconfig: undefined });
  await manager!.start(stop.signal);
  await until(
    () => manager!.current()?.leaf.subject.commonName === nodeUser,
    "the node has its own certificate",
  );
  assert.deepEqual(server.requestedBy, ["admin"]);
});

for (const rotate of [true, false]) {
  test(`without any kubeconfig the agent names the missing file (rotation ${rotate ? "on" : "off"})`, async () => {
    await assert.rejects(credentials({ rotate, bootstrapKubeconfig: undefined }), /kubelet\.conf/);
    await rm(at("bootstrap.conf"));
    await assert.rejects(credentials({ rotate }), /unable to load bootstrap kubeconfig: .*bootstrap\.conf/);
  });
}

test("a serving certificate is requested by the node and stored next to the client certificate", async () => {
  const { access } = await credentials({ rotate: false });
  const manager = servingCertificateManager({
    nodeName: "n1",
    certDir: at("pki"),
    api: kubeCertificateApi({ transport: connect(access), clock: systemClock, logger: silentLogger }),
    addresses: () => [{ type: "InternalIP", address: "127.0.0.1" }],
    allowDnsOnly: false,
    clock: systemClock,
    random: Math.random,
    logger: silentLogger,
    metrics: createMetrics(),
  });
  await manager.start(stop.signal);
  const pair = await available(manager);
  assert.deepEqual(pair.leaf.ipAddresses, ["127.0.0.1"]);
  assert.equal(server.requestedBy.at(-1), nodeUser);
  const { signerName, usages } = server.csrs.at(-1)!.spec;
  assert.deepEqual(
    [signerName, usages],
    ["kubernetes.io/kubelet-serving", ["digital signature", "server auth"]],
  );
  assert.ok((await readdir(at("pki"))).includes("kubelet-server-current.pem"));
});
