import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { lstat, readdir, readFile, readlink, stat } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { connect, createServer } from "node:tls";
import { clusterAccessAsNode } from "../../src/kubelet/certs/cluster-credentials.ts";
import { systemClock } from "../../src/lib/base/clock.ts";
import { isAbort, messageOf } from "../../src/lib/base/errors.ts";
import { silentLogger } from "../../src/lib/base/logger.ts";
import { createMetrics } from "../../src/lib/base/metrics.ts";
import { waitFor } from "../e2e/wait-for.ts";
import { startApiProcess } from "./api-process.ts";
import type { ApiUser } from "./api-user.ts";
import { nodeName, TestCluster } from "./cluster-node.ts";

const lifetimeMs = 60_000;
/** A certificate is rotated after at most 90 % of its lifetime, and then signed within seconds. */
const rotatedWithinMs = 0.9 * lifetimeMs + 5000;
/** The lease is renewed every 10 s. */
const maxRenewalIntervalMs = 15_000;

test("certificates with a lifetime of 60 s are rotated before they expire, without an interruption", async (t) => {
  const api = await startApiProcess(t, { certificatesFor: `${lifetimeMs / 1000}s` });
  const node = await CertifiedNode.start(t, api);
  const longestRenewalInterval = watchLease(t, api);
  await node.startAgent();
  const uid = await api.addPod("web");
  await api.podRuns("web");
  const [first, serving] = await waitFor(async () => [await node.client(), await node.serving()]);
  assert.equal(first.subject, `O=system:nodes\nCN=system:node:${nodeName}`);
  assert.match(serving.subjectAltName ?? "", new RegExp(`DNS:${nodeName}, IP Address:`));

  // Both are checked concurrently, since each has its own lifetime.
  const [second, servingSecond] = await Promise.all([node.rotated(first), node.rotatedServing(serving)]);
  // From here on the first certificate, and connections that use it, are invalid.
  await pause(first.validToDate.getTime() - Date.now() + 1);
  await api.addPod("after-one");
  await api.podRuns("after-one", 5000);
  await api.deletePod("after-one");

  const requested = [await api.signingRequests("client"), await api.signingRequests("serving")];
  assert.deepEqual(
    requested.map((all) => all.map(({ spec }) => spec.username.replace(/(system:bootstrap:).*/, "$1"))),
    [
      ["system:bootstrap:", `system:node:${nodeName}`],
      [`system:node:${nodeName}`, `system:node:${nodeName}`],
    ],
  );
  await node.stopAgent();
  await node.startAgent();
  assert.equal((await node.client()).fingerprint256, second.fingerprint256);
  assert.equal((await node.serving()).fingerprint256, servingSecond.fingerprint256);

  const [third] = await Promise.all([node.rotated(second), node.rotatedServing(servingSecond)]);
  await api.addPod("after-two");
  await api.podRuns("after-two", 5000);
  await api.deletePod("after-two");
  assert.equal(
    (await api.signingRequests("client")).length,
    3,
    "there is not one request for each certificate",
  );
  assert.equal(
    (await api.signingRequests("serving")).length,
    3,
    "there is not one request for each certificate",
  );

  t.diagnostic(
    `${node.responses} requests, ${longestRenewalInterval()} ms between renewals of the lease at most`,
  );
  assert.deepEqual(node.failed, []);
  assert.ok(node.responses > 50, `only ${node.responses} requests`);
  assert.ok(
    longestRenewalInterval() < maxRenewalIntervalMs,
    `the lease was not renewed for ${longestRenewalInterval()} ms`,
  );
  assert.equal(node.cluster.containersOf(uid).length, 1, "the container was restarted");
  await node.hasLayout("kubelet-client", 3);
  await node.hasLayout("kubelet-server", 3);
  assert.match(await readFile(node.kubeconfig, "utf8"), /client-key: .*\/pki\/kubelet-client-current.pem\n/);
  assert.ok(third.validToDate.getTime() > Date.now());
  const metrics = await node.cluster.agent.metrics.registry.metrics();
  for (const kind of ["client", "server"])
    assert.match(metrics, new RegExp(`^kubelet_certificate_manager_${kind}_ttl_seconds [1-5]?\\d$`, "m"));
});

/** An agent in this process that joins with a token, and a server with its serving certificate. */
class CertifiedNode {
  readonly cluster: TestCluster;
  readonly kubeconfig: string;
  readonly certDir: string;
  /** Failed requests; those without a response have status 0. */
  readonly failed: string[] = [];
  responses = 0;
  readonly #api: ApiUser;
  readonly #server = createServer((socket) => socket.end());
  #close = () => {};

  static async start(t: TestContext, api: ApiUser): Promise<CertifiedNode> {
    const node = new CertifiedNode(api, await TestCluster.start(t));
    await api.allowJoining(node.bootstrapKubeconfig);
    node.#server.listen(0, "127.0.0.1");
    await once(node.#server, "listening");
    t.after(async () => {
      node.#server.close();
      await node.stopAgent();
    });
    return node;
  }

  private constructor(api: ApiUser, cluster: TestCluster) {
    this.#api = api;
    this.cluster = cluster;
    this.kubeconfig = join(cluster.dir, "kubeconfig");
    this.certDir = join(cluster.dir, "pki");
    this.#server.on("tlsClientError", () => {});
  }

  get bootstrapKubeconfig(): string {
    return join(this.cluster.dir, "bootstrap");
  }

  async startAgent(): Promise<void> {
    const { certDir, kubeconfig, bootstrapKubeconfig } = this;
    const config = { ...this.cluster.config(), rotateCertificates: true, serverTLSBootstrap: true };
    const metrics = createMetrics();
    const access = await clusterAccessAsNode({
      flags: { certDir, kubeconfig, bootstrapKubeconfig, hostnameOverride: nodeName },
      config,
      metrics,
      kubeletVersion: "v1.36.4",
      clock: systemClock,
      logger: silentLogger,
      signal: AbortSignal.timeout(10_000),
      onCertificateUnavailable: (reason) => this.failed.push(reason),
      onResponse: ({ method, path, status, failure }) => {
        this.responses++;
        // 404 and 409 are expected: the node checks whether an object exists, or tries to create it.
        const isExpected = status === 404 || (status === 409 && method === "POST");
        if (failure === undefined || isExpected || isAbort(failure)) return;
        this.failed.push(`${status} ${method} ${path}: ${messageOf(failure)}`);
      },
    });
    this.#close = () => access.close();
    await this.cluster.startAgent({ cluster: access, config, metrics, certDir });
    const { servingCertificate } = this.cluster.agent;
    const pair = servingCertificate?.current();
    if (pair) this.#server.setSecureContext(pair);
    servingCertificate?.onChange((other) => this.#server.setSecureContext(other));
  }

  async stopAgent(): Promise<void> {
    await this.cluster.stopAgent();
    this.#close();
  }

  /** The certificate that connections to the API use. */
  async client(): Promise<X509Certificate> {
    return new X509Certificate(await readFile(join(this.certDir, "kubelet-client-current.pem")));
  }

  /** The serving certificate that a client with the cluster's CA sees. */
  async serving(): Promise<X509Certificate> {
    const { port } = this.#server.address() as AddressInfo;
    const socket = connect({ port, host: "127.0.0.1", servername: nodeName, ca: this.#api.ca });
    try {
      await once(socket, "secureConnect");
      return socket.getPeerX509Certificate()!;
    } finally {
      socket.destroy();
    }
  }

  rotated(before: X509Certificate): Promise<X509Certificate> {
    return this.#replaced(before, () => this.client());
  }

  rotatedServing(before: X509Certificate): Promise<X509Certificate> {
    return this.#replaced(before, () => this.serving());
  }

  async #replaced(before: X509Certificate, read: () => Promise<X509Certificate>) {
    const other = await waitFor(async () => {
      const current = await read();
      assert.notEqual(current.fingerprint256, before.fingerprint256, "the certificate was not replaced");
      return current;
    }, rotatedWithinMs);
    assert.ok(Date.now() < before.validToDate.getTime(), "the certificate expired before it was replaced");
    return other;
  }

  /** All pairs are kept, each in a separate file, and a link selects the current one. */
  async hasLayout(prefix: string, count: number): Promise<void> {
    const current = `${prefix}-current.pem`;
    const names = (await readdir(this.certDir)).filter((name) => name.startsWith(prefix) && name !== current);
    assert.equal(names.length, count, names.join());
    for (const name of names) {
      assert.match(name, new RegExp(`^${prefix}-\\d{4}(-\\d\\d){5}\\.pem$`));
      const path = join(this.certDir, name);
      assert.equal((await stat(path)).mode & 0o777, 0o600);
      assert.match(
        await readFile(path, "utf8"),
        /^-----BEGIN CERTIFICATE-----\n[^-]+-----END CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----\n[^-]+-----END EC PRIVATE KEY-----\n$/,
      );
    }
    const link = join(this.certDir, current);
    assert.ok((await lstat(link)).isSymbolicLink());
    assert.equal(await readlink(link), join(this.certDir, names.sort().at(-1) ?? ""));
  }
}

/** Watches the node's lease; returns the longest time without a renewal. */
function watchLease(t: TestContext, api: ApiUser): () => number {
  let [longest, before] = [0, Number.NaN];
  const read = async () => {
    const at = await api.renewedAt().catch(() => Number.NaN);
    if (at > before) longest = Math.max(longest, at - before);
    if (!Number.isNaN(at)) before = at;
  };
  const timer = setInterval(() => void read(), 500);
  t.after(() => clearInterval(timer));
  return () => Math.max(longest, Date.now() - before);
}
